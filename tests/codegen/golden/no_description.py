from satchel_runtime import call

async def add(*, a: float, b: float) -> float:
    return await call("abacus", "add", locals(), unwrap=True)
