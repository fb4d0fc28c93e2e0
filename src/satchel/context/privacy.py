"""What a model is told where personal data is hidden from it."""

PRIVACY = (
    "Words such as PERSON_ksn2vr and addresses such as ksn2vr@email.example are tokens for personal data."
    " Pass them to tools exactly as they are: the servers that the data came from get the real values."
    " Equal tokens are equal values. Programs get a value for comparisons with `reveal(token)` of the"
    " runtime, unless tools return tokens there as well."
)
