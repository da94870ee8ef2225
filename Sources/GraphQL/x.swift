// GraphQL
