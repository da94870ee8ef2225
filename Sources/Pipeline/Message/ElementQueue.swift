/// Elements that are handed out one by one, each to one reader.
actor ElementQueue<Element: Sendable> {
  private var elements: ArraySlice<Element>

  init(_ elements: [Element]) {
    self.elements = elements[...]
  }

  func next() -> Element? {
    elements.popFirst()
  }
}
