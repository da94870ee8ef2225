import GQLRunTyped

// The types of country.graphql are generated while this target is built.
let data = try CountryQuery.Data(json: #"{"country": {"name": "Portugal", "size": "SMALL"}}"#)
let errors = [FieldError(message: "unknown", path: [.key("country"), .key("capital")])]
let caught = try CapitalQuery().data(json: #"{"country": {"capital": null}}"#.utf8, errors: errors)
var message = "no error"
if case .failure(let error)? = caught.country?.capital { message = error.message }
print(data.country?.name ?? "none", data.country?.size == .small, message)
