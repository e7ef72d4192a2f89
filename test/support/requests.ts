import { Effect } from "effect"
import { type ClientError } from "../../src/domain/errors.ts"
import { type Returning } from "../../src/domain/RowSql.ts"
import { queryPairs } from "../../src/domain/RowText.ts"
import { type Actor, Db } from "../../src/services/Db.ts"
import { Functions } from "../../src/services/Functions.ts"
import { type RowRequest, Rows, type RowsAnswer } from "../../src/services/Rows.ts"

export const service: Actor = { role: "service_role", claims: "", sub: "" }
export const anon: Actor = { role: "anon", claims: "", sub: "" }
export const user = (sub: string): Actor => ({ role: "authenticated", claims: JSON.stringify({ sub }), sub })

/** Who asks, and where; the service and schema public unless told. */
export interface As {
  readonly actor?: Actor
  readonly schema?: string
  readonly returning?: Returning
}

/** `"notes?id=eq.1"`, the table percent-encoded as in a URL. */
const requestOf = (line: string, { actor = service, schema = "public" }: As) =>
  Effect.map(Effect.service(Db), ({ main }): RowRequest => {
    const mark = line.indexOf("?")
    const table = decodeURIComponent(mark < 0 ? line : line.slice(0, mark))
    return { database: main, actor, schema, table, query: queryPairs(mark < 0 ? "" : line.slice(mark + 1)) ?? [] }
  })

/** A JSON text as it is, anything else as JSON. */
const bodyOf = (body: unknown) => {
  const text = typeof body === "string" ? body : JSON.stringify(body)
  return { text, value: JSON.parse(text) as unknown }
}

const rowsOf = ({ body }: RowsAnswer) => JSON.parse(body) as ReadonlyArray<Readonly<Record<string, unknown>>>

const onRows = (
  line: string,
  as: As,
  ask: (rows: Rows["Service"], request: RowRequest) => ReturnType<Rows["Service"]["read"]>
) =>
  Effect.gen(function* () {
    return yield* ask(yield* Rows, yield* requestOf(line, as))
  })

/** The answers as they come, with count and offset. */
export const raw = {
  get: (line: string, as: As = {}) => onRows(line, as, (rows, request) => rows.read(request)),
  post: (line: string, body: unknown, as: As = {}) =>
    onRows(line, as, (rows, request) => rows.insert(request, bodyOf(body), as.returning ?? "representation")),
  patch: (line: string, body: unknown, as: As = {}) =>
    onRows(line, as, (rows, request) => rows.update(request, bodyOf(body), as.returning ?? "representation")),
  remove: (line: string, as: As = {}) =>
    onRows(line, as, (rows, request) => rows.remove(request, as.returning ?? "representation"))
}

export const get = (line: string, as?: As) => Effect.map(raw.get(line, as), rowsOf)
export const post = (line: string, body: unknown, as?: As) => Effect.map(raw.post(line, body, as), rowsOf)
export const patch = (line: string, body: unknown, as?: As) => Effect.map(raw.patch(line, body, as), rowsOf)
export const remove = (line: string, as?: As) => Effect.map(raw.remove(line, as), rowsOf)

/** The text that a function's call answers; undefined for void. */
export const rpcText = (name: string, body: unknown = {}, { actor = service, schema = "public" }: As = {}) =>
  Effect.gen(function* () {
    const functions = yield* Functions
    const { main } = yield* Db
    return yield* functions.call({ database: main, actor, schema, name, ...bodyOf(body) })
  })

export const rpc = (name: string, body?: unknown, as?: As) =>
  Effect.map(rpcText(name, body, as), (text) => (text === undefined ? undefined : (JSON.parse(text) as unknown)))

/** `"404 PGRST205"`; what should have failed but did not is `"200"`. */
export const refusal = <A, R>(effect: Effect.Effect<A, ClientError, R>) =>
  Effect.match(effect, {
    onSuccess: () => "200",
    onFailure: (error) => `${error.status} ${error.code}`
  })
