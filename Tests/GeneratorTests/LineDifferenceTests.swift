import Testing

@testable import GQLRunGenerator

@Suite("Differences of generated files", .timeLimit(.minutes(10)))
struct LineDifferenceTests {
  private func numbers(_ range: ClosedRange<Int>) -> String {
    range.map { "\($0)\n" }.joined()
  }

  @Test("changes that are far apart are shown apart, with three lines around them")
  func hunks() {
    let old = numbers(1...30)
    let new = old.replacing("\n5\n", with: "\nfive\n").replacing("\n20\n", with: "\n")
    #expect(
      LineDifference(old: old, new: new).text == """
        @@ -2,7 +2,7 @@
         2
         3
         4
        -5
        +five
         6
         7
         8
        @@ -17,7 +17,6 @@
         17
         18
         19
        -20
         21
         22
         23

        """)
  }

  @Test("changes that are close to each other are shown together")
  func together() {
    #expect(
      LineDifference(old: "a\nb\nc\n", new: "a\nx\nb\nc\ny\n").text
        == "@@ -1,3 +1,5 @@\n a\n+x\n b\n c\n+y\n")
  }

  @Test("files that have nothing in common are compared at once")
  func long() {
    let (old, new) = (numbers(1...20_000), numbers(200_001...220_000))
    for text in [nil, old] {
      let difference = LineDifference(old: text, new: new)
      #expect(difference.text.split(separator: "\n").count == (text == nil ? 20_001 : 40_001))
      #expect(difference.comparedCount == 0)
    }
  }

  @Test("only lines that both files have are compared with each other")
  func shared() {
    let difference = LineDifference(old: numbers(1...20_000), new: numbers(19_998...40_000))
    #expect(difference.comparedCount == 6)
    #expect(difference.text.split(separator: "\n").count == 1 + 39_997 + 3)
  }

  @Test("a file that does not exist has no lines")
  func missing() {
    #expect(LineDifference(old: nil, new: "a\nb\n").text == "@@ -0,0 +1,2 @@\n+a\n+b\n")
    #expect(LineDifference(old: "a\n", new: nil).text == "@@ -1,1 +0,0 @@\n-a\n")
    #expect(LineDifference(old: "a\n", new: "a\n").text.isEmpty)
  }
}
