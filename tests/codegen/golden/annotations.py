from satchel_runtime import call, JsonOrText, omit

async def purge(*, box: str, before: str = omit, after: str = omit) -> JsonOrText:
    """Remove what is older than a year.

    Says "gone" for each; */ and \"\"\" and \\N are ordinary text here.

    Destructive: may delete or overwrite. Be sure before calling it.
    Idempotent: repeating a call changes nothing more.
    Give one of: before; after.

    before: (date)
    after: (date)
    """
    return await call("archive", "purge", locals())
