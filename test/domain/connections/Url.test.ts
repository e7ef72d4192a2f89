import { Redacted, Result } from "effect"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { sslModeOf, startsWithTls, targetsOf } from "../../../src/domain/connections/Connection.ts"
import { type ConnectionUrl, readConnectionUrl } from "../../../src/domain/connections/Url.ts"

const read = (text: string): ConnectionUrl => {
  const result = readConnectionUrl(text)
  if (Result.isFailure(result)) throw new Error(`${text}: ${result.failure}`)
  return result.success
}
const masked = (text: string) => read(text).masked

describe("a connection string", () => {
  it.each([
    ["postgres://u:s3cret@h/db", "postgres://u:****@h/db"],
    ["postgresql://u:s3cret@h:5433/db?sslmode=require", "postgresql://u:****@h:5433/db?sslmode=require"],
    ["postgres://u:s3:cr3t@h", "postgres://u:****@h"],
    ["postgres://u:s3%40cr%2Fet@h/db", "postgres://u:****@h/db"],
    ["postgres://u@h/db?password=s3cret&sslmode=disable", "postgres://u@h/db?password=****&sslmode=disable"],
    ["postgres://h/db?user=u&p%61ssword=s3cret", "postgres://h/db?user=u&p%61ssword=****"],
    ["postgres://h/db?sslpassword=s3cret&sslkey=/k", "postgres://h/db?sslpassword=****&sslkey=/k"],
    ["postgres://u:s3cret@h1:1,h2:2,[::1]:3/db", "postgres://u:****@h1:1,h2:2,[::1]:3/db"],
    ["postgres://u:s3cret@%2Fvar%2Frun/db", "postgres://u:****@%2Fvar%2Frun/db"],
    ["postgres:///db?host=/var/run", "postgres:///db?host=/var/run"],
    ["postgres://u:@h/db", "postgres://u:@h/db"],
    ["POSTGRES://u:s3cret@h/db", "POSTGRES://u:****@h/db"],
    ["mysql://u:s3cret@h:3306/db?PWD=s3cret", "mysql://u:****@h:3306/db?PWD=****"],
    ["mysql://u:x@h/db?a=b;password=s3cret", "mysql://u:****@h/db?a=****"],
    ["mariadb://u:s3cret@h", "mariadb://u:****@h"],
    ["mongodb://u:s3cret@h1,h2:27018/db?replicaSet=rs", "mongodb://u:****@h1,h2:27018/db?replicaSet=rs"],
    ["mongodb+srv://u:s3cret@cluster.example.com/db", "mongodb+srv://u:****@cluster.example.com/db"],
    [
      "mongodb://h/?authMechanismProperties=AWS_SESSION_TOKEN:s3cret&tlsCertificateKeyFilePassword=s3cret",
      "mongodb://h/?authMechanismProperties=****&tlsCertificateKeyFilePassword=****"
    ],
    ["redis://:s3cret@h:6379/0", "redis://:****@h:6379/0"],
    ["redis://s3cret@h", "redis://****@h"],
    ["rediss://u:s3cret@h?access_token=s3cret", "rediss://u:****@h?access_token=****"],
    ["mssql://sa:s3cret@h:1433/db?encrypt=true", "mssql://sa:****@h:1433/db?encrypt=true"],
    [
      "sqlserver://h:1433;database=db;user=sa;password=s3cret;encrypt=true",
      "sqlserver://h:1433;database=db;user=sa;password=****;encrypt=true"
    ],
    [
      "sqlserver://h\\inst;user=sa;password={s3;c@r}}et#};encrypt=true",
      "sqlserver://h\\inst;user=sa;password=****;encrypt=true"
    ],
    ["sqlserver://h;password=s3;cret=1;user=sa", "sqlserver://h;password=****;cret=****;user=sa"],
    ["sqlserver://h;password=s3;cret", "sqlserver://h;password=****;****"],
    ["mysql://h/db?proxy=socks5%3A%2F%2Fu%3As3cret%40p", "mysql://h/db?proxy=****"],
    ['mysql://u:p@h/db?ssl={"key":"PRIVATE"}', "mysql://u:****@h/db?ssl=****"],
    ["mysql://u:p@h/db?ssl=%7B%22ca%22%3A%22x%22%7D&a=1", "mysql://u:****@h/db?ssl=****&a=1"],
    ["mysql://u:p@h/db?sslkey=-----BEGIN%20KEY-----&a=1", "mysql://u:****@h/db?sslkey=****&a=1"],
    ["postgres://u:p@h/db?options=[x]&sslmode=require", "postgres://u:****@h/db?options=****&sslmode=require"]
  ])("%s is masked as %s", (text, shown) => assert.strictEqual(masked(text), shown))

  it.each([
    "postgres://u:s3@cret@h/db",
    "postgres://u:s3/cret@h/db",
    "postgres://u:1/s3cret@h/db",
    "postgres://u:1?s3cret@h/db",
    "postgres://u:s3#cret@h/db",
    "postgres://u:s3 cret@h/db",
    "postgres://u:s3\ncret@h/db",
    "postgres://u:s3cret%@h/db",
    "postgres://u:s3cret%00@h/db",
    "postgres://u:p@h/db?application_name=s3@cret",
    "postgres://u:p@h:s3cret/db",
    "postgres://u:p@h:0/db",
    "postgres://u:p@h:65536/db",
    "postgres://u:p@h h/db",
    "mssql://u:1;s3=c@h",
    "sqlserver://u:s3{@/}cret@h/db",
    "sqlserver://u:s3@h;{s3@cret}/db",
    "mssql://u:p@h1,h2",
    "mongodb+srv://u:p@h1,h2",
    "http://u:s3cret@h/db",
    "jdbc:postgresql://h/db?password=s3cret",
    "postgres:u:s3cret@h",
    "file:///etc/passwd",
    "s3cret",
    ""
  ])("is rejected without repeating it: %s", (text) => {
    const result = readConnectionUrl(text)
    assert.isTrue(Result.isFailure(result))
    if (Result.isFailure(result)) assert.notInclude(result.failure, "s3")
  })

  it.each(["postgres://u:****@h/db", "postgres://h/db?password=****", "sqlserver://h;password=****", "redis://****@h"])(
    "is rejected when it is masked: %s",
    (text) => {
      const result = readConnectionUrl(text)
      assert.isTrue(Result.isFailure(result) && result.failure.includes("masked"))
    }
  )

  it("reveals no password, for any password", () => {
    const hosts = fc.constantFrom("h", "h:1", "[::1]:5432", "h1:1,h2")
    const password = fc.string({ unit: "binary", minLength: 4, maxLength: 40 }).filter((text) => text.isWellFormed())
    fc.assert(
      fc.property(
        hosts,
        password,
        fc.constantFrom("postgres", "mysql", "mongodb", "rediss"),
        (host, secret, scheme) => {
          const written = encodeURIComponent(secret)
          const result = readConnectionUrl(`${scheme}://u:${written}@${host}/db?password=${written}`)
          if (Result.isFailure(result)) return assert.isTrue(secret.includes("\0") || secret === "****")
          assert.strictEqual(Redacted.value(result.success.password), secret)
          return assert.strictEqual(result.success.masked, `${scheme}://u:****@${host}/db?password=****`)
        }
      )
    )
  })

  it("with an unencoded password is rejected, or reveals none of it", () => {
    const secret = fc.stringMatching(/^[~!@#$%^&*()_+\-={}[\]:;"'<>,.?/\\|a-z0-9 ]{1,12}$/)
    const scheme = fc.constantFrom("postgres", "mysql", "mongodb", "redis", "mssql", "sqlserver")
    fc.assert(
      fc.property(scheme, secret, (scheme, inner) => {
        const marked = `Q1Z${inner}Q2Z`
        const result = readConnectionUrl(`${scheme}://user:${marked}@host/db`)
        if (Result.isSuccess(result)) assert.notMatch(result.success.masked, /Q[12]Z/)
        else assert.notMatch(result.failure, /Q[12]Z/)
      }),
      { numRuns: 3_000, examples: [["sqlserver", "{@/}"]] }
    )
  })

  it("is not printed with its password", () => {
    assert.notInclude(JSON.stringify({ ...read("postgres://u:s3cret@h/db"), text: "" }), "s3cret")
  })
})

describe("a connection goes to", () => {
  it.each([
    ["postgres://h/db", [["h", 5432]]],
    [
      "postgres://h1:1,h2,[::1]:3/db",
      [
        ["h1", 1],
        ["h2", 5432],
        ["::1", 3]
      ]
    ],
    // The host that libpq connects to, not that of the authority.
    ["postgres://h/db?host=169.254.169.254", [["169.254.169.254", 5432]]],
    ["postgres://h:1/db?hostaddr=10.0.0.1&host=x&port=2", [["10.0.0.1", 2]]],
    ["postgres://%2Fvar%2Frun/db", [["/var/run", 5432]]],
    ["postgres:///db", [["localhost", 5432]]],
    ["mysql://h/db?socket=/run/mysql.sock", [["/run/mysql.sock", 3306]]],
    [
      "mongodb://a,b:1/db",
      [
        ["a", 27017],
        ["b", 1]
      ]
    ],
    ["rediss://h", [["h", 6379]]],
    ["sqlserver://h\\inst:1444;user=sa", [["h", 1444]]],
    ["sqlserver://;serverName=h;port=1444", [["h", 1444]]]
  ])("%s", (text, targets) => {
    assert.deepStrictEqual(
      targetsOf(read(text)).map(({ host, port }) => [host, port]),
      targets
    )
  })

  it("with TLS from the start if its scheme or its parameters say so", () => {
    const tls = (text: string) => startsWithTls(read(text))
    for (const text of ["rediss://h", "mongodb+srv://h/", "mongodb://h/?tls=true", "mongodb://h/?ssl=true"]) {
      assert.isTrue(tls(text), text)
    }
    for (const text of ["redis://h", "mongodb://h/", "mongodb+srv://h/?tls=false", "mysql://h/?ssl=true"]) {
      assert.isFalse(tls(text), text)
    }
  })

  it("PostgreSQL with the sslmode of libpq", () => {
    const mode = (query: string) => sslModeOf(read(`postgres://h/db?${query}`))
    assert.deepStrictEqual(
      ["", "sslmode=allow", "ssl=true", "sslmode=no-verify", "sslmode=verify-full", "sslmode=disable", "sslmode=x"].map(
        mode
      ),
      ["prefer", "prefer", "require", "require", "verify-full", "disable", undefined]
    )
  })
})
