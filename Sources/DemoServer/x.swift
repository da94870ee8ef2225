// DemoServer
