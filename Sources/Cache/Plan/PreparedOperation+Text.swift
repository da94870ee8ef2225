public import GQLRunLanguage

extension PreparedOperation {
  /// The document to send for an operation, independent of variables: the ``document`` of the
  /// operation prepared with the same keys and facts.
  ///
  /// - Throws: ``CacheError`` with code `invalidOperation`.
  public static func sentDocument(
    of document: Document, operationName: String? = nil, keys: KeyRules = KeyRules(),
    facts: TypeFacts? = nil
  ) throws(CacheError) -> String {
    let (_, reduced) = try select(operationName, in: document)
    return Augmentation(reduced, keys: keys, facts: facts).augmented().printed()
  }

  /// The operation with that name, and the document reduced to it.
  static func select(
    _ name: String?, in document: Document
  ) throws(CacheError) -> (OperationDefinition, Document) {
    do {
      let operation = try document.operation(named: name)
      return (operation, try document.reduced(to: operation))
    } catch let error as OperationSelectionError {
      throw CacheError(.invalidOperation, error.message, location: error.location)
    } catch let error as FragmentError {
      throw CacheError(.invalidOperation, error.message, location: error.location)
    } catch {
      throw CacheError(.invalidOperation, "\(error)")
    }
  }
}
