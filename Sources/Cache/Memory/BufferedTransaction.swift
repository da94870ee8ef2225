/// A store whose transactions keep their edits in memory until they are committed.
protocol BufferedStore: RecordStore {
  /// Reads an operation from the stored records with the edits of a transaction, in that transaction.
  func read(
    _ operation: PreparedOperation, under edits: [StoreEdit], _ options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer
  /// Applies edits, joins pages, and ends the transaction, also if an error is thrown.
  func commit(
    _ changes: BufferedEdits, settling layer: OptimisticLayer?
  ) async throws(CacheError) -> WriteSummary
  /// Ends the transaction without changes.
  func rollback() async
}

/// What a transaction changes at its commit.
struct BufferedEdits: Sendable {
  private(set) var edits: [StoreEdit] = []
  private(set) var pages: [Paging] = []
  /// The names of the types that the responses had.
  private(set) var types: [String] = []

  mutating func add(_ edit: StoreEdit) { edits.append(edit) }

  mutating func add(_ records: RecordBatch, _ activity: StoreActivity) {
    edits.append(.records(records.table))
    if !records.deltas.isEmpty { edits.append(.deltas(records.deltas)) }
    if let paging = records.paging { pages.append(paging) }
    for new in records.types {
      // The schema has these types even if the response is rolled back.
      activity.learn(new)
      types += new.concreteTypes
    }
  }
}

/// A transaction that keeps its edits in memory until it is committed.
actor BufferedTransaction: RecordTransaction {
  private let store: any BufferedStore
  private var edits = BufferedEdits()
  private var isOpen = true

  init(store: any BufferedStore) { self.store = store }

  deinit {
    guard isOpen else { return }
    Task { [store] in await store.rollback() }
  }

  func merge(_ records: RecordBatch) -> RecordBatch? {
    edits.add(records, store.activity)
    return nil
  }

  func resolve(_ nulls: NullResolution) {
    guard case .records(let table)? = edits.edits.last else { return }
    nulls.run(
      StagedRecords(table: table, seed: store.segmentSeed, received: table.firstReceived))
  }

  func remove(_ removals: [RecordRemoval]) throws(CacheError) {
    edits.add(
      .removals(try removals.map { (removal) throws(CacheError) in try removal.target() }))
  }

  func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer {
    try await store.read(operation, under: edits.edits, options)
  }

  func commit(settling layer: OptimisticLayer?) async throws(CacheError) -> WriteSummary {
    isOpen = false
    defer { edits = BufferedEdits() }
    return try await store.commit(edits, settling: layer)
  }

  func rollback() async {
    guard isOpen else { return }
    isOpen = false
    edits = BufferedEdits()
    await store.rollback()
  }
}
