import { Redacted } from "effect"
import { assert, describe, it } from "vitest"
import { atPrimary, parseLogin } from "../../../src/layers/postgres/Login.ts"

const places = (uri: string) => {
  const login = parseLogin(uri)
  return login && (login.at.servers?.all ?? [login.at]).map(({ host, port }) => `${host} ${port}`)
}

describe("libpq URIs", () => {
  it.each([
    ["postgres://u:p@one/db", ["one 5432"]],
    ["postgres://u:p@one:1,two:2,three/db?target_session_attrs=read-write", ["one 1", "two 2", "three 5432"]],
    ["postgresql://u:p%2C%40@[::1]:1,[fe80::2]/db?target_session_attrs=primary", ["::1 1", "fe80::2 5432"]],
    ["postgres://u:p@/db?host=one,two&port=1,2", ["one 1", "two 2"]],
    ["postgres://u:p@/db?host=one,two&port=7", ["one 7", "two 7"]],
    ["postgres://u:p@localhost:5/db?host=/run/postgresql", ["/run/postgresql 5"]]
  ])("%s", (uri, expected) => {
    assert.deepStrictEqual(places(uri), expected)
  })

  it.each([
    "postgres://u:p@one:1,two:x/db",
    "postgres://u:p@one:1,two:70000/db",
    "postgres://u:p@one:1,tw o/db",
    "postgres://u:p@/db?host=one,two&port=1,2,3",
    "postgres://u:p@one,two/db?target_session_attrs=standby",
    "postgres://u:p@one,two/db?target_session_attrs=any",
    `postgres://u:p@${Array.from({ length: 17 }, (_, at) => `h${at}`).join()}/db`,
    "mysql://u:p@one,two/db"
  ])("rejects %s", (uri) => {
    assert.isUndefined(parseLogin(uri))
  })

  it("leads to the primary, whichever server that is", () => {
    const login = parseLogin("postgres://u:p@one:1,two:2/db")
    assert.isDefined(login)
    const changed = { ...login, user: "other", password: Redacted.make("") }
    assert.deepInclude(atPrimary(changed).at, { host: "one", port: 1 })
    login.at.servers?.move({ host: "two", port: 2 })
    assert.deepInclude(atPrimary(changed).at, { host: "two", port: 2 })
    assert.deepInclude(atPrimary(changed), { user: "other", database: "db" })
  })
})
