import Testing

@testable import GQLRunDemoServer

/// The shop and the issues are made from numbers alone.
@Suite struct ListedObjectTests {
  @Test(arguments: [120, 8280])
  func `each order and line belongs to one object, and their numbers are known`(_ customers: Int) {
    let orders = Lists.orders.count(ofFirst: customers)
    #expect(orders == customers / 120 * 1780)
    #expect(Lists.lines.count(ofFirst: orders) == customers / 120 * 12_629)
    var next = 0
    for customer in 0..<customers {
      let numbers = Lists.orders.numbers(of: customer)
      #expect(numbers.lowerBound == next)
      next = numbers.upperBound
    }
    for order in stride(from: 0, to: orders, by: 37) {
      #expect(Lists.orders.numbers(of: Lists.orders.owner(of: order)).contains(order))
    }
  }

  @Test func `some lists are empty, and some have more than a page`() {
    let orders = (0..<120).map { Lists.orders.numbers(of: $0).count }
    #expect(orders.filter { $0 == 0 }.count == 10)
    #expect(orders.filter { $0 > 50 }.count == 7)
  }

  @Test(arguments: ["CU_7", "O_0", "L_12628", "R_2", "I_365", "IC_1499", "LA_17"])
  func `ids and cursors are read as they are written`(_ id: String) throws {
    let object = try #require(ListedObject(id: id))
    #expect(object.id == id)
    #expect(ListedObject(cursor: object.cursor) == object)
  }

  @Test(arguments: ["", "CU", "CU_", "CU_07", "CU_-1", "cu_1", "P_1", "O_1_2", "O_x"])
  func `other texts are no ids`(_ text: String) {
    #expect(ListedObject(id: text) == nil)
  }

  @Test(arguments: [
    (nil, 3, 0..<3), (2, 3, 1..<4), (3, 9, 1..<6), (9, 9, 4..<6), (100, 9, 6..<6), (nil, 0, 0..<0),
    (Int.max, 9, 6..<6),
  ])
  func `a page begins after a number`(_ number: Int?, first: Int, page: Range<Int>) {
    let list = NumberList(single: [2, 5], rest: 8..<12)
    #expect(list.page(after: number, first: first) == page)
    #expect((0..<list.count).map { list[$0] } == [2, 5, 8, 9, 10, 11])
  }

  @Test(arguments: [
    (0, "2026-01-01T00:00:00Z"), (-1, "2025-12-31T23:59:59Z"),
    (58 * 86_400, "2026-02-28T00:00:00Z"),
    (59 * 86_400, "2026-03-01T00:00:00Z"), (789 * 86_400 + 3723, "2028-02-29T01:02:03Z"),
  ])
  func `a time is written and read`(_ seconds: Int, text: String) {
    #expect(DemoTime.text(seconds) == text)
    #expect(DemoTime.seconds(text) == Double(seconds))
  }

  @Test func `what changed after a time is found, also by mutations`() throws {
    let lists = Lists(customers: 120)
    var edits = ListEdits()
    try edits.change(ListedObject(.customer, 7))
    try edits.change(ListedObject(.customer, 119))
    let times = (0..<120).map { Double(lists.updatedAt(ListedObject(.customer, $0), edits)) }
    #expect(times[7] > times[118] && times[119] > times[7])
    for time in [-5, 0, times[0], times[50], times[50] + 1, times[118], times[7], times[119], 1e18]
    {
      for inclusive in [true, false] {
        let found = lists.changed(
          .customer, in: 3..<120, after: time, inclusive: inclusive, edits: edits)
        let numbers = (0..<found.count).map { found[$0] }
        let expected = (3..<120).filter { times[$0] > time || (inclusive && times[$0] == time) }
        #expect(numbers == expected, "\(time) \(inclusive)")
      }
    }
  }
}
