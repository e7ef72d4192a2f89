import { Effect } from "effect"
import { type ClientError } from "../../src/domain/errors.ts"
import { noPreferences, type AnswerForm, type Preferences } from "../../src/domain/rows/Preferences.ts"
import { type CallBody } from "../../src/domain/rows/functions/Call.ts"
import { type RowRange } from "../../src/domain/rows/plan/Page.ts"
import { queryPairs } from "../../src/domain/rows/parse/Parser.ts"
import { type Actor, Db } from "../../src/services/ports/Db.ts"
import { Functions } from "../../src/services/rows/Functions.ts"
import { type RowRequest, Rows } from "../../src/services/rows/Rows.ts"

export const service: Actor = { role: "service_role", claims: "", sub: "" }
export const anon: Actor = { role: "anon", claims: "", sub: "" }
export const user = (sub: string): Actor => ({ role: "authenticated", claims: JSON.stringify({ sub }), sub })

/** Caller, schema and media type of a request. Default: a service key, public, JSON. */
export interface As {
  readonly actor?: Actor
  readonly schema?: string
  readonly returning?: Preferences["return"]
  readonly prefer?: Partial<Preferences>
  readonly form?: Partial<AnswerForm>
  readonly range?: RowRange
  readonly method?: string
}

export const asJson: AnswerForm = { media: "json", stripNulls: false, options: [], of: "json" }

/** `"notes?id=eq.1"`, the table percent-encoded as in a URL. */
const requestOf = (line: string, as: As) =>
  Effect.map(Effect.service(Db), ({ main }): RowRequest => {
    const mark = line.indexOf("?")
    const path = mark < 0 ? line : line.slice(0, mark)
    return {
      database: main,
      actor: as.actor ?? service,
      schema: as.schema ?? "public",
      searchPath: `"${as.schema ?? "public"}", "public"`,
      table: decodeURIComponent(path),
      query: queryPairs(mark < 0 ? "" : line.slice(mark + 1)) ?? [],
      preferences: { ...noPreferences, return: as.returning, ...as.prefer },
      range: as.range,
      form: { ...asJson, ...as.form },
      context: { method: as.method ?? "GET", path: `/${path}`, headers: "{}", cookies: "{}" }
    }
  })

/** JSON text unchanged, anything else as JSON. */
const bodyOf = (body: unknown) => Buffer.from(typeof body === "string" ? body : JSON.stringify(body))

const rowsOf = ({ body }: { readonly body: string }) =>
  JSON.parse(body) as ReadonlyArray<Readonly<Record<string, unknown>>>

const onRows = (
  line: string,
  as: As,
  ask: (rows: Rows["Service"], request: RowRequest) => ReturnType<Rows["Service"]["read"]>
) =>
  Effect.gen(function* () {
    const answer = yield* ask(yield* Rows, yield* requestOf(line, as))
    return { ...answer, body: String(answer.body) }
  })

/** The response with count and offset. The body is text. */
export const raw = {
  get: (line: string, as: As = {}) => onRows(line, as, (rows, request) => rows.read(request)),
  post: (line: string, body: unknown, as: As = {}) =>
    onRows(line, as, (rows, request) => rows.insert(request, bodyOf(body))),
  put: (line: string, body: unknown, as: As = {}) =>
    onRows(line, as, (rows, request) => rows.upsertOne(request, bodyOf(body))),
  patch: (line: string, body: unknown, as: As = {}) =>
    onRows(line, as, (rows, request) => rows.update(request, bodyOf(body))),
  remove: (line: string, as: As = {}) => onRows(line, as, (rows, request) => rows.remove(request))
}

export const get = (line: string, as?: As) => Effect.map(raw.get(line, as), rowsOf)
export const post = (line: string, body: unknown, as?: As) => Effect.map(raw.post(line, body, as), rowsOf)
export const put = (line: string, body: unknown, as?: As) => Effect.map(raw.put(line, body, as), rowsOf)
export const patch = (line: string, body: unknown, as?: As) => Effect.map(raw.patch(line, body, as), rowsOf)
export const remove = (line: string, as?: As) => Effect.map(raw.remove(line, as), rowsOf)

const callOf = (name: string, request: Effect.Effect<RowRequest, never, Db>, body: CallBody, { method }: As) =>
  Effect.gen(function* () {
    const functions = yield* Functions
    const { table: _, ...rest } = yield* request
    const answer = yield* functions.call({
      ...rest,
      name,
      method: method === "GET" || method === "HEAD" ? method : "POST",
      body
    })
    return { ...answer, body: answer.body === undefined ? undefined : String(answer.body) }
  })

/** Calls a function by POST, or by GET or HEAD as in `as`: `"add?a=1"`. Returns the response. */
export const rawRpc = (line: string, body: CallBody = { _tag: "None" }, as: As = {}) => {
  const request = requestOf(line, { method: "POST", ...as })
  return Effect.flatMap(request, ({ table }) => callOf(table, request, body, as))
}

/** The text that a function's call returns; undefined for void. */
export const rpcText = (name: string, body: unknown = {}, as: As = {}) =>
  Effect.map(
    callOf(name, requestOf("rpc", { method: "POST", ...as }), { _tag: "Json", json: bodyOf(body) }, as),
    (answer) => answer.body
  )

export const rpc = (name: string, body?: unknown, as?: As) =>
  Effect.map(rpcText(name, body, as), (text) => (text === undefined ? undefined : (JSON.parse(text) as unknown)))

/** `"404 PGRST205"`, or `"200"` if it did not fail. */
export const refusal = <A, R>(effect: Effect.Effect<A, ClientError, R>) =>
  Effect.match(effect, {
    onSuccess: () => "200",
    onFailure: (error) => `${error.status} ${error.code}`
  })
