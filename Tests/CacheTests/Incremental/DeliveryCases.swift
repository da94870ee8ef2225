import Testing

/// Messages of a response in parts, and what they give.
struct DeliveryCase: Sendable, CustomTestStringConvertible {
  var name: String
  var document: String
  var messages: [String]
  /// The data after each part.
  var data: [String]
  var pending: [[String]] = []
  var errors: [String] = []

  var testDescription: String { name }
}

/// The cases of Apollo Kotlin's mergers and of Apollo Client's handlers, by name, and those of the working group's
/// discussion 69.
enum DeliveryCases {
  static let computers = """
    query Query1 {
      computers { id screen { isTouch } ...ComputerFields @defer(label: "query:Query1:0") }
    }
    fragment ComputerFields on Computer {
      cpu year screen { resolution ... @defer(label: "fragment:ComputerFields:0") { isColor } }
    }
    """
  static let firstComputers = """
    {"computers":[{"id":"1","screen":{"isTouch":true}},{"id":"2","screen":{"isTouch":false}}]}
    """
  /// The computers with `ComputerFields`.
  static let bothComputers = """
    {"computers":[{"id":"1","cpu":"386","year":1993,"screen":{"isTouch":true,"resolution":"640x480"}},
      {"id":"2","cpu":"486","year":1996,"screen":{"isTouch":false,"resolution":"640x480"}}]}
    """
  /// The computers with `ComputerFields`, and with `isColor` where that has no error.
  static let oneWithColor = """
    {"computers":[{"id":"1","cpu":"386","year":1993,"screen":{"isTouch":true,"resolution":"640x480"}},
      {"id":"2","cpu":"486","year":1996,
       "screen":{"isTouch":false,"resolution":"640x480","isColor":false}}]}
    """

  static let withIDs: [DeliveryCase] = [
    DeliveryCase(
      name: "mergeJsonSingleIncrementalItem", document: computers,
      messages: [
        #"{"data":\#(firstComputers),"pending":[{"id":"0","path":["computers",0],"label":"query:Query1:0"}],"hasNext":true}"#,
        """
        {"incremental":[{"data":{"cpu":"386","year":1993,"screen":{"resolution":"640x480"}},"id":"0"}],
         "completed":[{"id":"0"}],"pending":[{"id":"1","path":["computers",1],"label":"query:Query1:0"}],
         "extensions":{"duration":{"amount":100}},"hasNext":true}
        """,
        """
        {"incremental":[{"data":{"cpu":"486","year":1996,"screen":{"resolution":"640x480"}},"id":"1"}],
         "completed":[{"id":"1"}],
         "pending":[{"id":"2","path":["computers",0,"screen"],"label":"fragment:ComputerFields:0"}],
         "hasNext":true}
        """,
        """
        {"completed":[{"id":"2","errors":[{"message":"Cannot resolve isColor",
          "path":["computers",0,"screen","isColor"]}]}],
         "pending":[{"id":"3","path":["computers",1,"screen"],"label":"fragment:ComputerFields:0"}],
         "hasNext":true}
        """,
        """
        {"incremental":[{"data":{"isColor":false},"id":"3","errors":[{"message":"Another error"}]}],
         "completed":[{"id":"3"}],"extensions":{"value":42},"hasNext":false}
        """,
      ],
      data: [
        firstComputers,
        """
        {"computers":[{"id":"1","cpu":"386","year":1993,"screen":{"isTouch":true,"resolution":"640x480"}},
          {"id":"2","screen":{"isTouch":false}}]}
        """,
        bothComputers,
        bothComputers,
        oneWithColor,
      ],
      pending: [
        ["query:Query1:0 computers[0]"], ["query:Query1:0 computers[1]"],
        ["fragment:ComputerFields:0 computers[0].screen"],
        ["fragment:ComputerFields:0 computers[1].screen"], [],
      ], errors: ["Cannot resolve isColor", "Another error"]),
    DeliveryCase(
      name: "mergeJsonMultipleIncrementalItems", document: computers,
      messages: [
        """
        {"data":\(firstComputers),"pending":[{"id":"0","path":["computers",0]},
          {"id":"1","path":["computers",1]}],"hasNext":true}
        """,
        """
        {"incremental":[
          {"data":{"cpu":"386","year":1993,"screen":{"resolution":"640x480"}},"id":"0"},
          {"data":{"cpu":"486","year":1996,"screen":{"resolution":"640x480"}},"id":"1"}],
         "completed":[{"id":"0"},{"id":"1"}],
         "pending":[{"id":"2","path":["computers",0,"screen"]},{"id":"3","path":["computers",1,"screen"]}],
         "hasNext":true}
        """,
        """
        {"incremental":[{"data":{"isColor":false},"id":"3","errors":[{"message":"Another error"}]}],
         "completed":[{"id":"2","errors":[{"message":"Cannot resolve isColor"}]},{"id":"3"}],
         "hasNext":false}
        """,
      ],
      data: [
        firstComputers,
        bothComputers,
        oneWithColor,
      ], errors: ["Another error", "Cannot resolve isColor"]),
    DeliveryCase(
      name: "emptyPayloads", document: "{ a ... @defer { b } }",
      messages: [
        #"{"data":{"a":1},"pending":[{"id":"0","path":[]}],"hasNext":true}"#,
        #"{"hasNext":true}"#,
        #"{"incremental":[{"data":{"b":2},"id":"0"}],"completed":[{"id":"0"}],"hasNext":true}"#,
        #"{"hasNext":false}"#,
      ],
      data: [#"{"a":1}"#, #"{"a":1}"#, #"{"a":1,"b":2}"#, #"{"a":1,"b":2}"#]),
    DeliveryCase(
      name: "june2023ExampleA",
      document: """
        { f2 { a b c { d e f { h i } } } ...MyFragment @defer }
        fragment MyFragment on Query { MyFragment: __typename f2 { c { f { j } } } }
        """,
      messages: [
        """
        {"data":{"f2":{"a":"a","b":"b","c":{"d":"d","e":"e","f":{"h":"h","i":"i"}}}},
         "pending":[{"path":[],"id":"0"}],"hasNext":true}
        """,
        """
        {"incremental":[{"id":"0","data":{"MyFragment":"Query"}},
          {"id":"0","subPath":["f2","c","f"],"data":{"j":"j"}}],
         "completed":[{"id":"0"}],"hasNext":false}
        """,
      ],
      data: [
        #"{"f2":{"a":"a","b":"b","c":{"d":"d","e":"e","f":{"h":"h","i":"i"}}}}"#,
        """
        {"f2":{"a":"a","b":"b","c":{"d":"d","e":"e","f":{"h":"h","i":"i","j":"j"}}},"MyFragment":"Query"}
        """,
      ]),
    DeliveryCase(
      name: "june2023ExampleA2",
      document: """
        { f2 { a b c { d e f { h i } } }
          ... @defer(label: "D1") { f2 { c { f { j k ... @defer(label: "D2") { l m } } } } } }
        """,
      messages: [
        """
        {"data":{"f2":{"a":"A","b":"B","c":{"d":"D","e":"E","f":{"h":"H","i":"I"}}}},
         "pending":[{"id":"0","path":[],"label":"D1"}],"hasNext":true}
        """,
        """
        {"incremental":[{"id":"0","subPath":["f2","c","f"],"data":{"j":"J","k":"K"}}],
         "pending":[{"id":"1","path":["f2","c","f"],"label":"D2"}],
         "completed":[{"id":"0"}],"hasNext":true}
        """,
        #"{"incremental":[{"id":"1","data":{"l":"L","m":"M"}}],"completed":[{"id":"1"}],"hasNext":false}"#,
      ],
      data: [
        #"{"f2":{"a":"A","b":"B","c":{"d":"D","e":"E","f":{"h":"H","i":"I"}}}}"#,
        #"{"f2":{"a":"A","b":"B","c":{"d":"D","e":"E","f":{"h":"H","i":"I","j":"J","k":"K"}}}}"#,
        """
        {"f2":{"a":"A","b":"B","c":{"d":"D","e":"E",
          "f":{"h":"H","i":"I","j":"J","k":"K","l":"L","m":"M"}}}}
        """,
      ], pending: [["D1 the top"], ["D2 f2.c.f"], []]),
    DeliveryCase(
      name: "june2023ExampleB1",
      document: exampleB,
      messages: [
        exampleB1,
        """
        {"incremental":[{"id":"1","data":{"slowA":"A"}},{"id":"1","data":{"e":{"f":"f"}}}],
         "completed":[{"id":"1"}],"hasNext":true}
        """,
        """
        {"incremental":[{"id":"0","data":{"g":{"h":"h"},"slowB":"B"}}],
         "completed":[{"id":"0"}],"hasNext":false}
        """,
      ],
      data: [
        #"{"a":{"b":{"c":{"d":"d"}}}}"#,
        #"{"a":{"b":{"c":{"d":"d"},"e":{"f":"f"},"slowA":"A"}}}"#,
        #"{"a":{"b":{"c":{"d":"d"},"e":{"f":"f"},"slowA":"A"}},"g":{"h":"h"},"slowB":"B"}"#,
      ], pending: [["Blue the top", "Red a.b"], ["Blue the top"], []]),
    DeliveryCase(
      name: "june2023ExampleB2",
      document: exampleB,
      messages: [
        exampleB1,
        """
        {"incremental":[{"id":"0","data":{"g":{"h":"h"},"slowB":"B"}},{"id":"1","data":{"e":{"f":"f"}}}],
         "completed":[{"id":"0"}],"hasNext":true}
        """,
        #"{"incremental":[{"id":"1","data":{"slowA":"A"}}],"completed":[{"id":"1"}],"hasNext":false}"#,
      ],
      data: [
        #"{"a":{"b":{"c":{"d":"d"}}}}"#,
        #"{"a":{"b":{"c":{"d":"d"},"e":{"f":"f"}}},"g":{"h":"h"},"slowB":"B"}"#,
        #"{"a":{"b":{"c":{"d":"d"},"e":{"f":"f"},"slowA":"A"}},"g":{"h":"h"},"slowB":"B"}"#,
      ], pending: [["Blue the top", "Red a.b"], ["Red a.b"], []]),
    DeliveryCase(
      name: "june2023ExampleD",
      document: """
        { me { ... @defer { list { item { id } } } } ... @defer { me { list { item { value } } } } }
        """,
      messages: [
        """
        {"data":{"me":{}},"pending":[{"path":[],"id":"0"},{"path":["me"],"id":"1"}],"hasNext":true}
        """,
        """
        {"incremental":[{"id":"1","data":{"list":[{"item":{}},{"item":{}}]}},
          {"id":"1","subPath":["list",0,"item"],"data":{"id":"1"}},
          {"id":"1","subPath":["list",1,"item"],"data":{"id":"2"}}],
         "completed":[{"id":"1"}],"hasNext":true}
        """,
        """
        {"incremental":[{"id":"0","subPath":["me","list",0,"item"],"data":{"value":"Foo"}},
          {"id":"0","subPath":["me","list",1,"item"],"data":{"value":"Bar"}}],
         "completed":[{"id":"0"}],"hasNext":false}
        """,
      ],
      data: [
        #"{"me":{}}"#, #"{"me":{"list":[{"item":{"id":"1"}},{"item":{"id":"2"}}]}}"#,
        """
        {"me":{"list":[{"item":{"id":"1","value":"Foo"}},{"item":{"id":"2","value":"Bar"}}]}}
        """,
      ]),
    DeliveryCase(
      name: "june2023ExampleF",
      document: #"{ me { ... @defer(label: "A") { ... @defer(label: "B") { a b } } } }"#,
      messages: [
        #"{"data":{"me":{}},"pending":[{"id":"0","path":["me"],"label":"B"}],"hasNext":true}"#,
        #"{"incremental":[{"id":"0","data":{"a":"A","b":"B"}}],"completed":[{"id":"0"}],"hasNext":false}"#,
      ],
      data: [#"{"me":{}}"#, #"{"me":{"a":"A","b":"B"}}"#], pending: [["B me"], []]),
    DeliveryCase(
      name: "june2023ExampleG",
      document: """
        { me { id avatarUrl projects { name }
          ... @defer(label: "Billing") { tier renewalDate }
          ... @defer(label: "Prev") { previousInvoices { name } } } }
        """,
      messages: [
        """
        {"data":{"me":{"id":1,"avatarUrl":"http://…","projects":[{"name":"My Project"}]}},
         "pending":[{"id":"0","path":["me"],"label":"Billing"},{"id":"1","path":["me"],"label":"Prev"}],
         "hasNext":true}
        """,
        """
        {"incremental":[{"id":"0","data":{"tier":"BRONZE","renewalDate":"2023-03-20"}}],
         "completed":[{"id":"0"}],"hasNext":true}
        """,
        """
        {"incremental":[{"id":"1","data":{"previousInvoices":[{"name":"My Invoice"}]}}],
         "completed":[{"id":"1"}],"hasNext":false}
        """,
      ],
      data: [
        #"{"me":{"id":1,"avatarUrl":"http://…","projects":[{"name":"My Project"}]}}"#,
        """
        {"me":{"id":1,"avatarUrl":"http://…","projects":[{"name":"My Project"}],"tier":"BRONZE",
          "renewalDate":"2023-03-20"}}
        """,
        """
        {"me":{"id":1,"avatarUrl":"http://…","projects":[{"name":"My Project"}],"tier":"BRONZE",
          "renewalDate":"2023-03-20","previousInvoices":[{"name":"My Invoice"}]}}
        """,
      ], pending: [["Billing me", "Prev me"], ["Prev me"], []]),
    DeliveryCase(
      name: "june2023ExampleH",
      document: """
        { ... @defer(label: "A") { me { foo { bar { baz } } } }
          me { ... @defer(label: "B") { foo { bar { qux } } } } }
        """,
      messages: [
        """
        {"data":{"me":{}},"pending":[{"id":"0","path":[],"label":"A"},{"id":"1","path":["me"],"label":"B"}],
         "hasNext":true}
        """,
        """
        {"incremental":[{"id":"0","subPath":["me"],"data":{"foo":{"bar":{}}}},
          {"id":"0","subPath":["me","foo","bar"],"data":{"baz":"BAZ"}}],
         "completed":[{"id":"0"}],"hasNext":true}
        """,
        """
        {"completed":[{"id":"1","errors":[{"message":"Cannot return null for non-nullable field Bar.qux.",
          "path":["foo","bar","qux"]}]}],"hasNext":false}
        """,
      ],
      data: [
        #"{"me":{}}"#, #"{"me":{"foo":{"bar":{"baz":"BAZ"}}}}"#,
        #"{"me":{"foo":{"bar":{"baz":"BAZ"}}}}"#,
      ], pending: [["A the top", "B me"], ["B me"], []],
      errors: ["Cannot return null for non-nullable field Bar.qux."]),
    DeliveryCase(
      name: "july2025ExampleI",
      document: """
        { person(id: 1) { name ... @defer(label: "homeWorldDefer") { homeworld { name } }
          films @stream(initialCount: 2, label: "filmsStream") { title } } }
        """,
      messages: [
        """
        {"data":{"person":{"name":"Luke","films":[{"title":"4"},{"title":"5"}]}},
         "pending":[{"id":"0","path":["person"],"label":"homeWorldDefer"},
           {"id":"1","path":["person","films"],"label":"filmsStream"}],"hasNext":true}
        """,
        #"{"incremental":[{"id":"1","items":[{"title":"6"}]}],"hasNext":true}"#,
        #"{"completed":[{"id":"1"}],"hasNext":true}"#,
        """
        {"incremental":[{"id":"0","data":{"homeworld":{"name":"Tatooine"}}}],"completed":[{"id":"0"}],
         "hasNext":false}
        """,
      ],
      data: [
        #"{"person":{"name":"Luke","films":[{"title":"4"},{"title":"5"}]}}"#,
        #"{"person":{"name":"Luke","films":[{"title":"4"},{"title":"5"},{"title":"6"}]}}"#,
        #"{"person":{"name":"Luke","films":[{"title":"4"},{"title":"5"},{"title":"6"}]}}"#,
        """
        {"person":{"name":"Luke","homeworld":{"name":"Tatooine"},
          "films":[{"title":"4"},{"title":"5"},{"title":"6"}]}}
        """,
      ],
      pending: [
        ["filmsStream person.films", "homeWorldDefer person"],
        ["filmsStream person.films", "homeWorldDefer person"], ["homeWorldDefer person"], [],
      ]),
  ]

  static let exampleB = """
    { a { b { c { d } ... @defer(label: "Red") { e { f } slowA } } }
      ... @defer(label: "Blue") { a { b { e { f } } } g { h } slowB } }
    """
  static let exampleB1 = """
    {"data":{"a":{"b":{"c":{"d":"d"}}}},"pending":[{"path":[],"id":"0","label":"Blue"},
      {"path":["a","b"],"id":"1","label":"Red"}],"hasNext":true}
    """

  static let older: [DeliveryCase] = [
    DeliveryCase(
      name: "A fragment that selects nothing of an element of a list that grows (before 2022)",
      document: "{ list @stream(initialCount: 1) { id ... @defer { name @skip(if: true) } } }",
      messages: [
        #"{"data":{"list":[{"id":"1"}]},"hasNext":true}"#,
        #"{"path":["list",1],"data":{"id":"2"},"hasNext":true}"#,
        #"{"path":["list",0],"data":{},"hasNext":true}"#,
        #"{"path":["list",1],"data":{},"hasNext":false}"#,
      ],
      data: [#"{"list":[{"id":"1"}]}"#]
        + Array(repeating: #"{"list":[{"id":"1"},{"id":"2"}]}"#, count: 3)),
    DeliveryCase(
      name: "Can defer fragments containing scalar types (2022)",
      document: "{ hero { id ...Name @defer } } fragment Name on Hero { id name }",
      messages: [
        #"{"data":{"hero":{"id":"1"}},"hasNext":true}"#,
        #"{"incremental":[{"data":{"id":"1","name":"Luke"},"path":["hero"]}],"hasNext":false}"#,
      ],
      data: [#"{"hero":{"id":"1"}}"#, #"{"hero":{"id":"1","name":"Luke"}}"#]),
    DeliveryCase(
      name: "Handles errors thrown in deferred fragments (2022)",
      document: "{ hero { id ...Name @defer } } fragment Name on Hero { name }",
      messages: [
        #"{"data":{"hero":{"id":"1"}},"hasNext":true}"#,
        """
        {"incremental":[{"data":{"name":null},"path":["hero"],
          "errors":[{"message":"bad","path":["hero","name"]}]}],"hasNext":false}
        """,
      ],
      data: [#"{"hero":{"id":"1"}}"#, #"{"hero":{"id":"1","name":null}}"#], errors: ["bad"]),
    DeliveryCase(
      name: "Handles non-nullable errors thrown in deferred fragments (2022)",
      document: "{ hero { id ...Name @defer } } fragment Name on Hero { name }",
      messages: [
        #"{"data":{"hero":{"id":"1"}},"hasNext":true}"#,
        """
        {"incremental":[{"data":null,"path":["hero"],
          "errors":[{"message":"null","path":["hero","name"]}]}],"hasNext":false}
        """,
      ],
      data: [#"{"hero":{"id":"1"}}"#, #"{"hero":{"id":"1"}}"#], errors: ["null"]),
    DeliveryCase(
      name: "Can stream a list field (2022)", document: "{ scalarList @stream(initialCount: 1) }",
      messages: [
        #"{"data":{"scalarList":["apple"]},"hasNext":true}"#,
        #"{"incremental":[{"items":["banana"],"path":["scalarList",1]}],"hasNext":true}"#,
        #"{"incremental":[{"items":["coconut"],"path":["scalarList",2]}],"hasNext":false}"#,
      ],
      data: [
        #"{"scalarList":["apple"]}"#, #"{"scalarList":["apple","banana"]}"#,
        #"{"scalarList":["apple","banana","coconut"]}"#,
      ]),
    DeliveryCase(
      name: "Can stream multi-dimensional lists (2022)",
      document: "{ scalarListList @stream(initialCount: 1) }",
      messages: [
        #"{"data":{"scalarListList":[["apple"]]},"hasNext":true}"#,
        #"{"incremental":[{"items":[["banana","b"]],"path":["scalarListList",1]}],"hasNext":false}"#,
      ],
      data: [
        #"{"scalarListList":[["apple"]]}"#, #"{"scalarListList":[["apple"],["banana","b"]]}"#,
      ]),
    DeliveryCase(
      name: "Can stream nested in an object with its list named instead of an index (2022)",
      document: "{ hero { friends @stream { name } } }",
      messages: [
        #"{"data":{"hero":{"friends":[]}},"hasNext":true}"#,
        #"{"incremental":[{"items":[{"name":"Han"}],"path":["hero","friends"]}],"hasNext":false}"#,
      ],
      data: [#"{"hero":{"friends":[]}}"#, #"{"hero":{"friends":[{"name":"Han"}]}}"#]),
    DeliveryCase(
      name: "Defers a fragment and streams elements (before 2022)",
      document: #"{ hero { name friends @stream { name } ... @defer(label: "L") { age } } }"#,
      messages: [
        #"{"data":{"hero":{"name":"Luke","friends":[]}},"hasNext":true}"#,
        #"{"path":["hero","friends",0],"data":{"name":"Han"},"hasNext":true}"#,
        #"{"label":"L","hasNext":true,"data":{"age":20},"path":["hero"]}"#,
        #"{"hasNext":false}"#,
      ],
      data: [
        #"{"hero":{"name":"Luke","friends":[]}}"#,
        #"{"hero":{"name":"Luke","friends":[{"name":"Han"}]}}"#,
        #"{"hero":{"name":"Luke","friends":[{"name":"Han"}],"age":20}}"#,
        #"{"hero":{"name":"Luke","friends":[{"name":"Han"}],"age":20}}"#,
      ]),
    DeliveryCase(
      name: "A first part with data and incremental", document: "{ a ... @defer { b } }",
      messages: [
        #"{"incremental":[{"data":{"b":2},"path":[]}],"hasNext":false,"data":{"a":1}}"#
      ],
      data: [#"{"a":1}"#, #"{"a":1,"b":2}"#]),
    DeliveryCase(
      name: "A server that ignores the directive", document: "{ a ... @defer { b } }",
      messages: [#"{"data":{"a":1,"b":2}}"#], data: [#"{"a":1,"b":2}"#]),
    DeliveryCase(
      name: "A heartbeat before and between parts", document: "{ a ... @defer { b } }",
      messages: [
        "{}", #"{"data":{"a":1},"hasNext":true}"#, "", "{}",
        #"{"incremental":[{"data":{"b":2},"path":[]}],"hasNext":false}"#,
      ],
      data: [#"{"a":1}"#, #"{"a":1,"b":2}"#]),
    DeliveryCase(
      name: "One fragment says null with an error, the next has the value (2022)",
      document: "{ hero { id ... @defer { f { a } } ... @defer { f { b } } } }",
      messages: [
        #"{"data":{"hero":{"id":"1"}},"hasNext":true}"#,
        """
        {"incremental":[{"data":{"f":null},"path":["hero"],"errors":[{"message":"bad","path":["hero","f","a"]}]},
          {"data":{"f":{"b":1}},"path":["hero"]}],"hasNext":false}
        """,
      ],
      data: [#"{"hero":{"id":"1"}}"#, #"{"hero":{"id":"1","f":{"b":1}}}"#], errors: ["bad"]),
  ]
}
