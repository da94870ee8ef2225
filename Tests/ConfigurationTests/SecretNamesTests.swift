import Testing

@testable import GQLRunConfiguration

@Suite struct SecretNamesTests {
  @Test(arguments: [
    "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Auth-Key", "X-Auth",
    "x_api_key", "X-API-KEY",
    "X-ApiKey", "X-JWT", "X-Session", "X-Session-Id", "Ocp-Apim-Subscription-Key",
    "X-Amz-Signature", "X-Sig",
    "X-Hub-Signature-256", "X-Goog-Credential", "X-CSRF-Token", "X-Vault-Token", "Client-Secret",
    "X-Password",
    "X-OTP", "X-Access-Key-Id", "X-OAuth-Scopes",
  ]) func `a field that carries credentials is secret`(_ name: String) {
    #expect(SecretNames.isSecretField(name))
    #expect(SecretNames.isSecretField(name.lowercased()))
    #expect(SecretNames.isSecretFormParameter(name))
  }

  @Test(arguments: [
    "X-Lang", "Accept", "Content-Type", "X-Author", "X-Authors", "Idempotency-Key",
    "WWW-Authenticate", "X-Design",
    "X-Assign", "X-Keyboard", "Keep-Alive", "X-Request-ID", "X-Correlation-ID", "Host", "X-Tenant",
    "ETag", "",
  ]) func `another field is not`(_ name: String) {
    #expect(!SecretNames.isSecretField(name))
  }

  @Test(arguments: [
    "refresh_token", "client_secret", "client_assertion", "assertion", "password", "code",
    "code_verifier",
    "device_code", "subject_token", "SAMLResponse",
  ]) func `a parameter of OAuth's forms is secret`(_ name: String) {
    #expect(SecretNames.isSecretFormParameter(name))
  }

  @Test(arguments: ["grant_type", "scope", "client_id", "audience", "redirect_uri", "username"])
  func `a parameter that describes the request is not`(_ name: String) {
    #expect(!SecretNames.isSecretFormParameter(name))
  }

  @Test
  func `members of JSON are judged by their whole names, as data have names such as key and code`()
  {
    for name in ["password", "accessToken", "client-secret", "API_KEY", "jwt", "subscriptionKey"] {
      #expect(SecretNames.isSecretMember(name), "\(name)")
    }
    for name in ["key", "code", "tokens", "nextPageToken", "session", "author", "name"] {
      #expect(!SecretNames.isSecretMember(name), "\(name)")
    }
  }

  @Test func `the query of a URL and its password are secret, and GraphQL's parameters are not`() {
    let found = SecretNames.secrets(
      inURL: "https://u:pass-word@h/p?key=a%2Fb&query=%7Ba%7D&onError=NULL&x#f=1"
    ).map { $0.reveal() }
    #expect(Set(found) == ["pass-word", "a%2Fb", "a/b"])
  }
}
