"""Texts become terms: identifiers come apart, endings go, and no script or size is too much."""

import pytest

from satchel.search.words import is_common, joined, stem, terms_of

MEGABYTE = 1_000_000  # characters


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("get_document", {"get", "document"}),
        ("get-document", {"get", "document"}),
        ("get.document", {"get", "document"}),
        ("GET_DOCUMENT", {"get", "document"}),
        ("Get Document", {"get", "document"}),
        ("getDocument", {"get", "document", "getdocu"}),
        ("GetDocument", {"get", "document", "getdocu"}),
        ("__get__document__", {"get", "document"}),
        ("userID", {"user", "id", "userid"}),
        ("sha256sum", {"sha", "256", "sum", "sha256sum"}),
        ("oauth2_token", {"oauth", "2", "oauth2", "token"}),
        ("get用户info", {"get", "用户", "info"}),
    ],
)
def test_an_identifier_is_its_words_and_where_they_touch_also_the_whole(name: str, terms: set[str]) -> None:
    assert set(terms_of(name)) == terms


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("parseHTTPResponse", "parse http response"),
        ("HTTPServer", "http server"),
        ("getURL", "get url"),
        ("S3BucketList", "s 3 bucket list"),
        ("runSQLQuery2", "run sql query 2"),
        ("XMLHttpRequest", "xml http request"),
    ],
)
def test_an_acronym_is_one_word_of_an_identifier(name: str, words: str) -> None:
    assert set(terms_of(words)) <= set(terms_of(name))


def test_the_order_of_words_is_kept() -> None:
    assert terms_of("Upload photos, sorted by year") == ["upload", "photo", "sort", "year"]


@pytest.mark.parametrize(
    "name",
    ["get_document", "get-document", "getDocument", "GetDocument", "GET DOCUMENT", "gét.document"],
)
def test_every_spelling_of_a_name_is_one_when_it_is_joined(name: str) -> None:
    assert joined(name) == "getdocument"


@pytest.mark.parametrize("text", ["", " ", "___", "…!?", "🎉🎊", "\x00\x07"])
def test_what_has_no_letters_has_no_terms_and_no_joined_form(text: str) -> None:
    assert (terms_of(text), joined(text)) == ([], "")


def test_common_words_are_left_out_where_there_are_others() -> None:
    assert terms_of("what is the weather in the city") == terms_of("weather city")
    assert all(is_common(word) for word in ("what", "is", "the", "in"))
    assert not is_common("weather")


@pytest.mark.parametrize("text", ["who", "to be or not to be", "The Who"])
def test_common_words_count_where_there_are_no_others(text: str) -> None:
    assert terms_of(text) == text.lower().split()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("用户管理", ["用户", "户管", "管理"]),
        ("用", ["用"]),
        ("搜索 文件", ["搜索", "文件"]),
        ("ひらがな", ["ひら", "らか", "かな"]),
        ("カメラ", ["カメ", "メラ"]),
        ("사용자 관리", ["사용", "용자", "관리"]),
    ],
)
def test_chinese_japanese_and_korean_are_read_by_pairs_of_characters(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms


def test_a_word_within_a_chinese_sentence_is_found_in_it() -> None:
    assert set(terms_of("管理")) <= set(terms_of("查询用户管理系统"))


@pytest.mark.parametrize("text", ["البحث عن الملفات", "Поиск файлов", "αναζήτηση αρχείων", "חיפוש קבצים"])
def test_other_scripts_with_spaces_are_read_by_words(text: str) -> None:
    terms = terms_of(text)

    assert len(terms) == len(text.split())
    assert terms == terms_of(text.upper())


def test_vowel_signs_of_arabic_and_accents_of_latin_do_not_count() -> None:
    assert terms_of("كِتَاب") == terms_of("كتاب")
    assert terms_of("café résumé naïve über") == terms_of("cafe resume naive uber")
    assert terms_of("cafe\u0301") == terms_of("caf\u00e9") == ["cafe"]


def test_wide_letters_and_ligatures_are_plain_ones() -> None:
    assert terms_of("ｆｉｌｅ ﬁle") == ["file", "file"]


def test_emoji_and_control_characters_separate_words_and_are_none() -> None:
    assert terms_of("send🎉mail\x00box\x1bred\u2028blue") == ["send", "mail", "box", "red", "blue"]


def test_a_lone_surrogate_is_no_error() -> None:
    assert "mail" in terms_of("mail \ud800 box")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "word " * (MEGABYTE // 5),
        "a" * MEGABYTE,
        "A" * MEGABYTE,
        "aB" * (MEGABYTE // 2),
        "a1" * (MEGABYTE // 2),
        "_" * MEGABYTE,
        "用" * MEGABYTE,
        "\x00" * MEGABYTE,
        "🎉" * MEGABYTE,
        "e\u0301" * (MEGABYTE // 2),
    ],
    ids=["words", "a", "A", "aB", "a1", "_", "chinese", "control", "emoji", "accents"],
)
def test_a_megabyte_of_anything_is_read(text: str) -> None:
    """A step that is quadratic would not end before the test has to."""
    terms = terms_of(text)
    joined(text)

    assert all(len(term) <= 40 for term in terms)


@pytest.mark.slow
def test_a_megabyte_of_different_words_is_read() -> None:
    text = " ".join(f"word{number:x}" for number in range(MEGABYTE // 10))

    assert len(terms_of(text)) > MEGABYTE // 10


@pytest.mark.parametrize(
    "words",
    [
        "document documents",
        "create creates created creating creation",
        "query queries",
        "search searches searched searching",
        "delete deletes deleted deleting deletion",
        "update updates updated updating",
        "translate translation translating",
        "box boxes",
        "class classes",
        "address addresses",
        "category categories",
        "company companies",
        "list lists listed listing",
        "edit edits edited editing",
        "notify notified notifies notification notifications",
        "schedule scheduled scheduling schedules",
        "stop stops stopped stopping",
        "commit committed committing commits",
        "plan plans planned planning",
        "payment payments",
        "image images",
        "summarise summarize summarization summarizing",
        "organisation organization organize",
        "extract extracts extraction extracting",
        "move moves moving",
        "filter filters filtering",
        "monitor monitors monitoring",
        "multiply multiplies multiplying",
        "apply applies applied applying",
        "cancel cancels cancelled canceled",
        "analyze analyse analyses analysis analyzing",
        "convert converts conversion",
    ],
)
def test_forms_of_a_word_have_one_stem(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 1


@pytest.mark.parametrize(
    "words",
    [
        "store story",
        "apply app",
        "author auth",
        "offer off",
        "string sing",
        "bus business",
        "class clash",
        "pay payment play",
        "process progress",
        "date data database",
        "status state",
        "map mop",
        "ring red bed",
        "user us",
        "commit comment",
        "event even",
        "file fill",
        "table tab",
        "address add",
    ],
)
def test_words_of_different_meaning_keep_different_stems(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == len(words.split())


@pytest.mark.parametrize("word", ["", "s", "as", "ing", "red", "sha256", "données", "用户管理"])
def test_short_words_and_what_is_not_plain_letters_stay_as_they_are(word: str) -> None:
    assert stem(word) == word


def test_a_word_that_is_data_is_cut() -> None:
    assert terms_of("x" * 1000) == terms_of("x" * 2000) == ["x" * 40]


@pytest.mark.parametrize("words", ["run running", "log logging", "map mapping", "configure configuration"])
def test_an_ending_that_doubles_a_letter_or_swallows_one_is_left_out(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 1


def test_marks_without_end_take_no_time_to_speak_of() -> None:
    assert terms_of("a" + "\u0301\u0323" * 50_000)[:1] == ["a"]
