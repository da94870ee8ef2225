import GQLRunSupport

/// The cookies of a pipeline, in memory.
final class CookieJar: Sendable {
  fileprivate struct State {
    var cookies: [[[UInt8]]: Cookie] = [:]
    var created = 0
  }

  /// The most cookies of a domain; the oldest are removed first.
  static let perDomain = 50
  /// The most cookies.
  static let total = 3000

  private let state = Locked(State())

  /// The value of the field `Cookie` of a request; `nil` without cookies.
  func header(for origin: CookieOrigin, now: Double) -> String? {
    let found = state.withLock { state in
      state.cookies = state.cookies.filter { !$0.value.isExpired(at: now) }
      return state.cookies.values.filter { $0.belongs(to: origin) }
    }
    // Longer paths first, then older cookies.
    let sorted = found.sorted { ($1.path.utf8.count, $0.number) < ($0.path.utf8.count, $1.number) }
    let pairs = sorted.map { $0.name.isEmpty ? $0.value : "\($0.name)=\($0.value)" }
    return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
  }

  /// Stores the cookies of a response.
  func store(_ fields: [String], from origin: CookieOrigin, now: Double) {
    for text in fields.prefix(Self.perDomain) {
      guard let cookie = Cookie(setCookie: text, from: origin, now: now) else { continue }
      state.withLock { $0.store(cookie, from: origin, now: now) }
    }
  }

  /// Removes all cookies.
  func removeAll() { state.withLock { $0.cookies = [:] } }
}

extension CookieJar.State {
  fileprivate mutating func store(_ new: Cookie, from origin: CookieOrigin, now: Double) {
    var cookie = new
    // A secure cookie is only replaced over an encrypted connection.
    if !origin.isSecure,
      cookies.values.contains(where: {
        $0.isSecure && $0.key[0] == cookie.key[0] && overlap($0, cookie)
      })
    {
      return
    }
    guard !cookie.isExpired(at: now) else {
      cookies[cookie.key] = nil
      return
    }
    created += 1
    cookie.number = cookies[cookie.key]?.number ?? created
    cookies[cookie.key] = cookie
    removeOldest(above: CookieJar.perDomain) { $0.domain == cookie.domain }
    removeOldest(above: CookieJar.total) { _ in true }
  }

  private func overlap(_ old: Cookie, _ new: Cookie) -> Bool {
    (Cookie.matches(old.domain, domain: new.domain)
      || Cookie.matches(new.domain, domain: old.domain))
      && Cookie.matches(new.path, prefix: old.path)
  }

  private mutating func removeOldest(above limit: Int, where isCounted: (Cookie) -> Bool) {
    let counted = cookies.values.filter(isCounted)
    guard counted.count > limit, let oldest = counted.min(by: { $0.number < $1.number }) else {
      return
    }
    cookies[oldest.key] = nil
  }
}
