/// Matches patterns with wildcards for any number of elements.
package enum Wildcards {
  /// Whether a pattern matches the whole text; both are given by their numbers of elements.
  ///
  /// Takes time proportional to the product of both counts at most: after a mismatch, only the last
  /// wildcard is extended.
  ///
  /// - Parameters:
  ///   - isWildcard: Whether an element of the pattern matches any number of elements of the text.
  ///   - accepts: Whether another element of the pattern matches an element of the text.
  package static func match(
    _ patternCount: Int, _ textCount: Int, isWildcard: (_ part: Int) -> Bool,
    accepts: (_ part: Int, _ element: Int) -> Bool
  ) -> Bool {
    var part = 0
    var element = 0
    var wildcard: (part: Int, element: Int)?
    while element < textCount {
      if part < patternCount, isWildcard(part) {
        wildcard = (part, element)
        part += 1
      } else if part < patternCount, accepts(part, element) {
        part += 1
        element += 1
      } else if let last = wildcard {
        wildcard = (last.part, last.element + 1)
        part = last.part + 1
        element = last.element + 1
      } else {
        return false
      }
    }
    while part < patternCount, isWildcard(part) { part += 1 }
    return part == patternCount
  }
}
