import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"
import { afterAll, assert, beforeAll } from "vitest"
import { signedToken } from "../../../bench/isolation/callers.ts"
import { type Answer, makeClient } from "../../../bench/isolation/client.ts"
import { type InProcessService, serveInProcess } from "../inProcess.ts"
import { until } from "../service.ts"

/** A caller's name: the `sub` of a JWT with the anon key; or the anon or the service key alone. */
export type CallerName = `u${number}` | "anon" | "service"

interface Served extends AsyncDisposable {
  readonly service: InProcessService
  /** Runs SQL as a superuser, outside of the service. */
  readonly outside: (text: string) => Promise<ReadonlyArray<Record<string, unknown>>>
  /** Ends all sessions of `/v1/db`, so that nothing of earlier requests is left. */
  readonly renew: () => Promise<void>
  /** `"GET /v1/db/notes"`; the body as JSON. */
  readonly ask: (
    caller: CallerName,
    line: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>
  ) => Promise<Answer>
}

/** The whole service on a new database with these tables, and callers of it. */
const serve = async (setup: string, env: Readonly<Record<string, string>>) => {
  await using started = new AsyncDisposableStack()
  const service = started.use(await serveInProcess(env))
  const client = new Client({ connectionString: service.databaseUrl })
  await client.connect()
  started.defer(() => client.end())
  const outside = async (text: string) => (await client.query<Record<string, unknown>>(text)).rows
  const http = makeClient(service.url)
  started.defer(() => http.close())
  const tokens = new Map<string, string>()
  const credentials = (caller: CallerName): Readonly<Record<string, string>> => {
    if (caller === "anon") return { apikey: service.anon }
    if (caller === "service") return { apikey: service.service_role }
    const token = tokens.get(caller) ?? signedToken(service.jwtSecret, caller)
    tokens.set(caller, token)
    return { apikey: service.anon, authorization: `Bearer ${token}` }
  }
  const ask: Served["ask"] = async (caller, line, body, headers) => {
    const [method = "", path = ""] = line.split(" ", 2)
    const content = body === undefined ? {} : { body: JSON.stringify(body) }
    return (await http.send({ method, path, headers: { ...credentials(caller), ...headers }, ...content })) as Answer
  }
  const renew = async () => {
    await outside(
      `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name like 'svc rows%'`
    )
    await sleep(100)
  }
  await outside(`${setup}; create table setup_done (a int); grant all on setup_done to anon`)
  await until(
    () => ask("anon", "GET /v1/db/setup_done"),
    ({ status }) => status === 200
  )
  const parts = started.move()
  return { service, outside, renew, ask, [Symbol.asyncDispose]: () => parts.disposeAsync() } satisfies Served
}

/** Ten rows of each of the users u0 to u19. */
const tenRowsEach = (table: string) =>
  `insert into ${table} (owner) select 'u' || n % 20 from generate_series(0, 199) n`

/** An owned table with its rows, which everyone may use within the policy. */
export const ownedTable = (name: string, policy: string, columns = "") => `
  create table ${name} (id int generated always as identity primary key,
    owner text not null default current_setting('request.jwt.sub', true), body text not null default 'none' ${columns});
  ${tenRowsEach(name)};
  alter table ${name} enable row level security;
  create policy own on ${name} using (${policy}) with check (true);
  grant all on ${name} to anon, authenticated;
  grant all on all sequences in schema public to anon, authenticated;`

const userOf = (n: number): CallerName => `u${n % 20}`

/** What was wrong with an answer; undefined if it was right. */
export type Fault = string | undefined
type Check = (caller: CallerName, answer: Answer) => Fault

/** The fault of an answer that is an error. */
export const errorIn: Check = (caller, { status, text }) =>
  status >= 300 ? `${caller}: ${status} ${text.slice(0, 200)}` : undefined

/** Whether an answer has rows, and all are of one owner. */
export const ownRows =
  (column = "owner"): Check =>
  (caller, answer) => {
    const error = errorIn(caller, answer)
    if (error !== undefined) return error
    const rows = JSON.parse(answer.text) as ReadonlyArray<Readonly<Record<string, unknown>>>
    const foreign = rows.find((row) => row[column] !== caller)
    if (foreign !== undefined) return `${caller} got ${JSON.stringify(foreign)}`
    return rows.length === 0 ? `${caller} got no row` : undefined
  }

/** Whether an answer is the caller's own `sub`. */
const ownSub: Check = (caller, answer) =>
  answer.text === JSON.stringify(caller)
    ? undefined
    : (errorIn(caller, answer) ?? `${caller} got ${answer.text.slice(0, 200)}`)

/** Serves for the tests of a file: the whole service on a new database with these tables, and checked requests to it. */
export const serveIsolated = (setup: string, env: Readonly<Record<string, string>> = {}) => {
  let served: Served
  beforeAll(async () => void (served = await serve(setup, env)))
  afterAll(() => served[Symbol.asyncDispose]())
  const ask: Served["ask"] = (...request) => served.ask(...request)
  /** Sends a request again, as its response asks, when definitions changed so that it may have run user code. */
  const askAgain = async (...request: Parameters<typeof ask>) => {
    for (let tries = 10; ; tries--) {
      const answer = await ask(...request)
      if (tries === 0 || answer.status !== 503 || !answer.text.includes("EXECUTION_IN_DOUBT")) return answer
    }
  }
  let aliases = 0
  return {
    /** The service, once tests run. */
    service: () => served.service,
    outside: (text: string) => served.outside(text),
    renew: () => served.renew(),
    ask,
    askAgain,
    /** Reads the caller's rows of a table. */
    read:
      (table: string, query = "") =>
      async (caller: CallerName) =>
        ownRows()(caller, await askAgain(caller, `GET /v1/db/${table}?select=id,owner${query}`)),
    /** The same in a statement of its own, which is planned in every request: one that is prepared keeps its operators. */
    readPlanned:
      (table: string, query = "") =>
      async (caller: CallerName) => {
        const alias = `o${++aliases}`
        return ownRows(alias)(caller, await askAgain(caller, `GET /v1/db/${table}?select=${alias}:owner${query}`))
      },
    /** Calls a function that returns the caller's `sub`. */
    call: (name: string) => async (caller: CallerName) =>
      ownSub(caller, await askAgain(caller, `POST /v1/db/rpc/${name}`, {}))
  }
}

export interface Load {
  readonly answers: number
  readonly faults: ReadonlyArray<string>
}

/** Waits for so many more answers. */
type Answered = (count: number) => Promise<void>

/** Lets users repeat a request, `loops` at once, until `during` ends. */
export const underLoad = async (
  request: (caller: CallerName, n: number) => Promise<Fault>,
  during: (answered: Answered) => Promise<unknown>,
  loops = 30
): Promise<Load> => {
  const faults: Array<string> = []
  const load = { running: true, answers: 0 }
  const loop = async (at: number) => {
    for (let n = at; load.running; n += loops) {
      const fault = await request(userOf(n + Math.floor(n / 20)), n)
      load.answers += 1
      if (fault !== undefined) faults.push(fault)
    }
  }
  const loaded = Promise.all(Array.from({ length: loops }, (_, at) => loop(at)))
  const answered: Answered = async (count) => {
    const enough = load.answers + count
    while (load.answers < enough) await sleep(5)
  }
  await during(answered).finally(() => (load.running = false))
  await loaded
  return { answers: load.answers, faults }
}

/** Fails with the number of faults and some of them, first those that are no errors. */
export const assertNone = ({ answers, faults }: Load) => {
  assert.isAbove(answers, 20, "there was too little load")
  const isError = (fault: string) => Number(/: [45]\d\d /.test(fault))
  const shown = faults.toSorted((one, other) => isError(one) - isError(other)).slice(0, 5)
  assert.strictEqual(faults.length, 0, `${faults.length} of ${answers} answers, such as:\n${shown.join("\n")}`)
}

export const pause = sleep
