from skills.find_customer import find_customer

customer = await find_customer("Meridian Health")
print(customer["account"]["name"], [deal["name"] for deal in customer["open_deals"]])
assert customer["contacts"] and customer["open_deals"]
try:
    await find_customer("nobody of that name")
except LookupError as error:
    print(error)
