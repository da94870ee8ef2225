/// A change of a value inside a record, by a later part of a response.
///
/// It is applied inside the transaction to what is stored then. A value that another request has replaced in between
/// is not changed.
struct RecordDelta: Sendable {
  enum Change: Sendable {
    /// The text of an object to merge.
    case fields([UInt8])
    /// The text of a list to append, and the indices of its elements: the list has as many elements before.
    case elements([UInt8], Range<Int>)
    /// The value is not known: the field is removed.
    case removal
  }

  var owner: [UInt8]
  var steps: [RecordStep]
  var change: Change

  /// Whether the change needs only the end of a list.
  var appends: Bool {
    guard case .elements = change else { return false }
    return steps.allSatisfy { if case .field = $0 { true } else { false } }
  }

  /// The size of the elements that the change ``appends``, in bytes.
  var addedSize: Int { if case .elements(let text, _) = change { text.count } else { 0 } }

  /// The keys of the segments of `text` that ``ListGrowth`` may absorb, if the change ``appends``: the last one first.
  func lastSegments(in text: [UInt8]) -> ArraySlice<[UInt8]> {
    var value = text
    for case .field(let key) in steps {
      guard let next = ObjectText(value)[key] else { return [] }
      value = next
    }
    let keys = value.withBytes { Segments.keys(of: $0)?.keys ?? [] }
    return keys.suffix(ListGrowth.maxShortSegments).reversed()[...]
  }

  /// Changes the record; returns the quoted stored key of the changed field, or `nil` without a change.
  func apply(_ access: any RecordAccess) -> [UInt8]? {
    guard case .field(let field)? = steps.first, let text = access.text(of: owner),
      let edited = apply(to: text, access)
    else { return nil }
    access.setRecord(key: owner, text: edited.count > 2 ? edited : nil, fields: [field])
    return field
  }

  /// Removes the errors of the record at the positions for which the change has values.
  func removeErrors(_ access: any RecordAccess) {
    guard case .fields(let text) = change else { return }
    access.editErrors(of: owner) {
      $0.remaining(after: text, over: nil, at: steps, access: access)
    }
  }

  /// The changed text of the record; `nil` without a change.
  func apply(to text: [UInt8], _ access: any SegmentAccess) -> [UInt8]? {
    edited(text, steps: steps[...], access: access).flatMap { $0 == text ? nil : $0 }
  }

  private func edited(
    _ value: [UInt8], steps: ArraySlice<RecordStep>, access: any SegmentAccess
  ) -> [UInt8]? {
    switch steps.first {
    case nil: return changed(value, access)
    case .field(let key)?:
      guard RecordText.kind(value) == .object else { return nil }
      var object = ObjectText(value)
      if case .removal = change, steps.count == 1 {
        object[key] = nil
        return object.text
      }
      guard let old = object[key], let new = edited(old, steps: steps.dropFirst(), access: access)
      else {
        return nil
      }
      object[key] = new
      return object.text
    case .element(let index)?:
      guard var reader = ListReader(value, access: access), !reader.isLeaf, index < reader.count
      else { return nil }
      var writer = ListWriter(access: access)
      var position = 0
      while let element = reader.next() {
        let new =
          position == index ? edited(element, steps: steps.dropFirst(), access: access) : element
        guard let new else { return nil }
        writer.append(new)
        position += 1
      }
      return reader.isBroken ? nil : writer.finish()
    }
  }

  private func changed(_ value: [UInt8], _ access: any SegmentAccess) -> [UInt8]? {
    switch change {
    case .removal: return nil
    case .fields(let new):
      guard Merge.isSameObject(value, new) else { return nil }
      return new.withBytes { Merge.merged(value, $0, access: access) }
    case .elements(let new, let indices):
      return ListGrowth(owner: owner, steps: steps, access: access)
        .appended(new, to: value, count: indices.lowerBound)
    }
  }
}
