import type { Claims } from "./queries.ts"

/** One claim of one kind of token, as it is edited. */
export interface Row {
  /** Of this page only: rows have no other identity while their name is typed. */
  readonly key: number
  readonly token: "id" | "access"
  readonly name: string
  readonly template: string
  /** "": the default. */
  readonly scope: string
}

let last = 0
export const newRow = (token: Row["token"], name = "", template = "", scope = ""): Row => ({
  key: ++last,
  token,
  name,
  template,
  scope
})

const texts = (given: object | undefined) =>
  Object.entries(given ?? {}).map(([name, value]) => [name, String(value)] as const)

export const rowsOf = ({ access_token_claims, claim_scopes, id_token_claims }: Claims): ReadonlyArray<Row> => {
  const scopes = new Map(texts(claim_scopes))
  return [["id", id_token_claims] as const, ["access", access_token_claims] as const].flatMap(([token, claims]) =>
    texts(claims).map(([name, template]) => newRow(token, name, template, scopes.get(name)))
  )
}

const claimsOf = (rows: ReadonlyArray<Row>, token: Row["token"]) =>
  Object.fromEntries(rows.filter((row) => row.token === token).map(({ name, template }) => [name.trim(), template]))

/** The configuration that the rows describe. */
export const configOf = (rows: ReadonlyArray<Row>): Claims => {
  const scopes = rows.filter(({ scope }) => scope.trim() !== "").map(({ name, scope }) => [name.trim(), scope.trim()])
  return {
    id_token_claims: claimsOf(rows, "id"),
    access_token_claims: claimsOf(rows, "access"),
    ...(scopes.length === 0 ? {} : { claim_scopes: Object.fromEntries(scopes) as Record<string, string> })
  }
}

/** What the configuration could not hold as it is written. The service checks everything else. */
export const problemOf = (rows: ReadonlyArray<Row>): string | undefined => {
  const scopes = new Map<string, string>()
  const seen = new Set<string>()
  for (const { name, scope, token } of rows) {
    const claim = name.trim()
    if (claim === "") return "A claim has no name."
    if (seen.has(`${token} ${claim}`)) return `The claim ${claim} is there twice.`
    seen.add(`${token} ${claim}`)
    const other = scopes.get(claim)
    if (other !== undefined && other !== scope.trim())
      return `The claim ${claim} must require the same scope in both tokens.`
    scopes.set(claim, scope.trim())
  }
  return undefined
}
