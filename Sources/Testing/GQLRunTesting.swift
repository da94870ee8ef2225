// Tests run against the demo server without a further import: `DemoServer.withServer { server in … }`.
@_exported public import GQLRunDemoServer
