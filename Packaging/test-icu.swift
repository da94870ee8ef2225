// Prints what Foundation gets from ICU's data, for the locales of the program: test-icu.sh compares the output with all
// of the data and with the part that the program has.
import Foundation

func show(_ name: String, _ value: Any?) { print(name, "=", value.map { "\($0)" } ?? "nil") }

let dates = [0, 1e9, 1_790_000_000.123, -5e9].map { Date(timeIntervalSince1970: $0) }
let words = [
  "zebra", "Ärger", "apfel", "Öl", "école", "eclair", "Zoo", "ñandu", "nandu", "10", "9", "中", "一",
  "あ", "ア", "한", "하",
]
let texts = [
  "hello wörld ÀÉ 123 ١٢٣ ก", "สวัสดีชาวโลก ภาษาไทย", "東京特許許可局 日本語", "ភាសាខ្មែរ ພາສາລາວ မြန်မာဘာသာ",
  "a\u{301}e🇵🇹👨‍👩‍👧 x", "Straße STRASSE ﬁ",
]

func showSettings() {
  show("locale", Locale.current.identifier)
  show("locales", Locale.availableIdentifiers.count)
  show("languages", Locale.preferredLanguages)
  show("calendar", "\(Calendar.current.identifier) \(Calendar.current.firstWeekday)")
}

func showDates(_ locale: Locale, zone: String) {
  let formatter = DateFormatter()
  formatter.locale = locale
  formatter.timeZone = TimeZone(identifier: zone)
  let formats = [
    "yyyy-MM-dd HH:mm:ss.SSS", "EEE, dd MMM yyyy HH:mm:ss zzz", "EEEE d MMMM y G zzzz VVVV OOOO B",
    "qqqq w W",
  ]
  for format in formats {
    formatter.dateFormat = format
    show("\(locale.identifier) \(zone) \(format)", dates.map { formatter.string(from: $0) })
  }
  formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
  for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 PST", "Sunday, x"] {
    show("\(locale.identifier) \(text)", formatter.date(from: text)?.timeIntervalSince1970)
  }
  formatter.dateStyle = .full
  formatter.timeStyle = .full
  show("\(locale.identifier) \(zone)", dates.map { formatter.string(from: $0) })
}

func showNumbers(_ locale: Locale) {
  let formatter = NumberFormatter()
  formatter.locale = locale
  let styles: [NumberFormatter.Style] = [
    .none, .decimal, .currency, .percent, .scientific, .spellOut, .ordinal, .currencyPlural,
    .currencyISOCode, .currencyAccounting,
  ]
  for style in styles {
    formatter.numberStyle = style
    let values = [0, 1, -1_234_567.891, 0.5, 1e20].map {
      formatter.string(from: NSNumber(value: $0)) ?? "nil"
    }
    show("\(locale.identifier) style \(style.rawValue)", values)
  }
  show("integer", 1_234_567.formatted(.number.locale(locale)))
  show("percent", 0.1234567.formatted(.percent.locale(locale)))
  show("bytes", ByteCountFormatStyle(style: .file, locale: locale).format(123_456_789))
  show("list", ["a", "b", "c"].formatted(.list(type: .and).locale(locale)))
  show("duration", Duration.seconds(3725).formatted(.units(width: .wide).locale(locale)))
  show("decimal", Decimal(string: "1234.56", locale: locale))
  show("format", String(format: "%.2f %5d %x %e", locale: locale, 3.14159, 42, 255, 12345.678))
}

func showNames(_ locale: Locale) {
  show("currencies", ["EUR", "JPY"].map { locale.localizedString(forCurrencyCode: $0) ?? "nil" })
  show("languages", ["de", "pt_BR"].map { locale.localizedString(forIdentifier: $0) ?? "nil" })
  show("regions", ["DE", "BR"].map { locale.localizedString(forRegionCode: $0) ?? "nil" })
  show("upper", "straße iı".uppercased(with: locale))
  show("lower", "ÀÉİI".lowercased(with: locale))
  let folded: String.CompareOptions = [.caseInsensitive, .diacriticInsensitive, .widthInsensitive]
  show("folded", "Ångström ﬁ".folding(options: folded, locale: locale))
  for options in [String.CompareOptions(), [.caseInsensitive, .numeric]] {
    let sorted = words.sorted {
      $0.compare($1, options: options, range: nil, locale: locale) == .orderedAscending
    }
    show("\(locale.identifier) order", sorted)
  }
}

func showPatterns() {
  let patterns = [
    #"\w+"#, #"\b\w"#, #"(?w)\b"#, #"\X"#, #"\p{Lu}"#, #"\p{Script=Thai}+"#, #"\p{L}\p{M}*"#,
    #"\N{LATIN SMALL LETTER O}"#, #"\p{name=LATIN SMALL LETTER O}"#, #"[[:alpha:]]+"#,
    #"(?i)strasse"#, #"(?i)straße"#, #"\p{Block=CJK_Unified_Ideographs}"#, #"\d+"#, #"\s"#, #"\R"#,
    #"(a|(b"#, #"[z-a]"#, #"\p{Foo}"#, #"\p{Emoji}"#, #"\p{Age=5.0}"#, #"\p{scx=Deva}"#,
    #"\p{ccc=230}"#, #"\p{nv=1}"#, #"\p{InPC=Top}"#, #"\p{lb=ID}"#, #"\p{Basic_Emoji}"#,
  ]
  let all: [NSRegularExpression.Options] = [[], .caseInsensitive, .useUnicodeWordBoundaries]
  for pattern in patterns {
    for options in all {
      do {
        let expression = try NSRegularExpression(pattern: pattern, options: options)
        let matches = texts.map { text in
          expression.matches(in: text, range: NSRange(location: 0, length: text.utf16.count))
            .map { "\($0.range.location)+\($0.range.length)" }.joined(separator: " ")
        }
        show("\(pattern) \(options.rawValue)", matches)
      } catch {
        show("\(pattern) \(options.rawValue)", error.localizedDescription)
      }
    }
  }
}

func showTexts() {
  for text in texts {
    show("canonical", text.decomposedStringWithCanonicalMapping)
    show("compatible", text.precomposedStringWithCompatibilityMapping)
  }
  show("localized", words.sorted { $0.localizedCompare($1) == .orderedAscending })
  show("standard", words.sorted { $0.localizedStandardCompare($1) == .orderedAscending })
  show("insensitive", words.sorted { $0.localizedCaseInsensitiveCompare($1) == .orderedAscending })
  let encodings: [String.Encoding] = [
    .utf8, .utf16, .utf32, .ascii, .isoLatin1, .windowsCP1252, .macOSRoman,
  ]
  for encoding in encodings {
    show("\(encoding.rawValue)", "é".data(using: encoding, allowLossyConversion: true)?.count)
    show("decoded", String(data: Data([0x65, 0x41, 0x42, 0x43]), encoding: encoding))
  }
  for url in ["http://bücher.example/ä", "http://пример.испытание/", "http://faß.de/"] {
    show("URL", URL(string: url)?.absoluteString)
    show("host", URLComponents(string: url)?.encodedHost)
  }
}

func showTimes() {
  show("ISO 8601", dates.map { $0.formatted(.iso8601) })
  show("ISO 8601", dates.map { ISO8601DateFormatter().string(from: $0) })
  show("current locale", "\(dates[1].formatted()) \(1_234_567.8.formatted())")
  for name in [
    "Europe/Lisbon", "PST", "GMT+3", "America/Argentina/Buenos_Aires", "Nope", "Asia/Calcutta",
  ] {
    let zone = TimeZone(identifier: name) ?? TimeZone(abbreviation: name)
    show("zone \(name)", zone?.identifier)
    show("abbreviation", zone?.abbreviation(for: dates[1]))
    show("name", zone?.localizedName(for: .standard, locale: Locale(identifier: "en_US")))
    show("transition", zone?.nextDaylightSavingTimeTransition(after: dates[1]))
  }
  let calendars: [Calendar.Identifier] = [
    .gregorian, .buddhist, .hebrew, .japanese, .islamic, .iso8601, .chinese,
  ]
  for identifier in calendars {
    var calendar = Calendar(identifier: identifier)
    calendar.locale = Locale(identifier: "en_US")
    show("calendar \(identifier)", calendar.dateComponents(in: .gmt, from: dates[1]))
    show("months", calendar.monthSymbols)
  }
}

showSettings()
// An empty identifier is the root locale.
for identifier in ["en_US_POSIX", "en_US", "en_GB", "en_001", "en", ""] {
  let locale = Locale(identifier: identifier)
  for zone in ["GMT", "Europe/Lisbon", "America/New_York", "Asia/Kathmandu"] {
    showDates(locale, zone: zone)
  }
  showNumbers(locale)
  showNames(locale)
}
showPatterns()
showTexts()
showTimes()
