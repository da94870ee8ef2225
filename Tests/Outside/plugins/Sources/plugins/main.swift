// The types of country.graphql are generated while this target is built.
let data = try CountryQuery.Data(json: #"{"country": {"name": "Portugal", "size": "SMALL"}}"#)
print(data.country?.name ?? "none", data.country?.size == .small)
