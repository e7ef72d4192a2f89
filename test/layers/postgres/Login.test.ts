import { Effect, Redacted } from "effect"
import { assert, describe, it } from "vitest"
import { addressFor } from "../../../src/layers/postgres/Address.ts"
import {
  type ServerAddress,
  atPrimary,
  clientConfig,
  type Login,
  parseLogin
} from "../../../src/layers/postgres/Login.ts"

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

  it("keep user, password and encryption of several hosts at each of them", () => {
    const login = parseLogin("postgres://u:p@one:1,two:2/db?sslmode=verify-full")
    assert.isDefined(login)
    const named = () => {
      const { host, ssl, username } = clientConfig(atPrimary(login))
      return [host, username, typeof ssl === "object" ? ssl.servername : ssl]
    }
    assert.deepStrictEqual(named(), ["one", "u", "one"])
    login.at.servers?.move({ host: "two", port: 2 })
    assert.deepStrictEqual(named(), ["two", "u", "two"])
  })
})

describe("another address of a login", () => {
  const login = parseLogin("postgres://u:p@one/db?sslmode=verify-full") ?? assert.fail()
  const read = (uri: string) => Effect.runPromise(addressFor(login, Redacted.make(uri), "DATABASE_READ_URLS"))

  it.each(["postgres://two/db", "postgres://u@two/db", "postgres://u:p@two/db"])(
    "%s has its own encryption, and no credentials",
    async (uri) => {
      const { at, database } = await read(`${uri}?sslmode=require`)
      assert.strictEqual(database, "db")
      assert.deepStrictEqual(at, { host: "two", port: 5432, ssl: { rejectUnauthorized: false } })
      assert.deepStrictEqual({ ...login, at }, { ...login, at, user: "u", database: "db" })
    }
  )

  it.each([
    ["user", "postgres://postgres@two/db"],
    ["user", "postgres://postgres:p@two/db"],
    ["password", "postgres://u:other@two/db"]
  ])("is refused with another %s: %s", async (part, uri) => {
    const error = await read(uri).catch((cause: unknown) => String(cause))
    assert.include(String(error), `DATABASE_READ_URLS has another ${part} than DATABASE_URL`)
    assert.notInclude(String(error), "other@")
  })

  it("cannot have credentials by its type, nor a login be an address", () => {
    // @ts-expect-error An address has no user.
    const address: ServerAddress = { host: "two", port: 1, ssl: false, user: "postgres" }
    // @ts-expect-error A login has an address and is none.
    const wrong: ServerAddress = login
    // @ts-expect-error Nor does an address replace a login's host.
    const mixed: Login = { ...login, host: "two" }
    assert.isDefined([address, wrong, mixed])
  })
})
