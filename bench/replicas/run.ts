import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"
import { signedToken } from "../isolation/callers.ts"
import { Random } from "../isolation/random.ts"
import { defaultEntry } from "../support/service.ts"
import { type Balancer, makeBalancer, startHaproxy } from "./balancer.ts"
import { type Cluster, type ClusterOptions, makeCluster } from "./cluster.ts"
import { compare } from "./compare.ts"
import { Exclusive } from "./exclusive.ts"
import { allReady, faultsOf } from "./faults.ts"
import { makeReceiver, type Receiver, Subscriber } from "./listeners.ts"
import { Load } from "./load.ts"
import { Propagation, signUp } from "./propagation.ts"
import { makeRecovery } from "./recovery.ts"
import { Journal, type Report } from "./report.ts"

export interface Options extends ClusterOptions {
  readonly seconds: number
  readonly seed: number
  /** Callers that send one request after the other. */
  readonly callers: number
  /** Faults by name; undefined: all that the cluster can have. */
  readonly kinds: ReadonlyArray<string> | undefined
  /** The number of faults after which the run ends, even if it has not taken `seconds`. */
  readonly faults: number
  /** The longest time for which a server is silent, in ms. The service gives connections up after 8 s. */
  readonly silence: number
  /** After so many faults there are none for a while, in which propagation is measured. */
  readonly calmEvery: number
  /** Whether HAProxy distributes the requests, if it is installed. */
  readonly haproxy: boolean
  readonly progress?: (report: Report, fault: string) => void
}

export const defaults: Options = {
  entry: defaultEntry,
  replicas: 3,
  standbys: 0,
  store: undefined,
  machinery: false,
  seconds: 60,
  seed: 1,
  callers: 24,
  kinds: [
    "replica killed",
    "replica suspended",
    "replica stopped",
    "PostgreSQL killed",
    "PostgreSQL suspended",
    "PostgreSQL restarted"
  ],
  faults: Number.POSITIVE_INFINITY,
  silence: 12_000,
  calmEvery: 6,
  haproxy: false
}

/** Everything: the servers and faults that this machine can have. */
export const everything: Options = { ...defaults, standbys: 1, machinery: true, kinds: undefined, haproxy: true }

const setUp = `
  create table appends (op text not null, part int not null);
  create index on appends (op);
  create table notes (id text primary key, owner text not null default current_setting('request.jwt.sub', true));
  alter table notes enable row level security;
  create policy own on notes using (owner = current_setting('request.jwt.sub', true));
  create table migrated (name text not null);
  grant select, insert on notes to authenticated;
  grant select on appends to anon, authenticated`

const flag = (key: string) => ({
  key,
  type: "boolean",
  variants: { on: true, off: false },
  defaultVariant: "on",
  state: "ENABLED"
})

const prepare = async ({ databaseUrl, service_role }: Cluster, balancer: Balancer, load: Load, receiver: Receiver) => {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(setUp)
  await client.end()
  const post = async (path: string, body: unknown) => {
    const answer = await balancer.send("POST", path, { apikey: service_role }, body)
    if (answer?.status !== 201) throw new Error(`POST ${path}: ${answer?.status} ${answer?.text}`)
  }
  await post("/api/flags", flag("chaos"))
  await post("/api/flags", flag("speed"))
  await post("/api/storage/buckets", { name: "chaos" })
  await post("/api/webhooks", { name: "ops", table_name: "appends", url: receiver.url, events: ["INSERT"] })
  await post("/api/realtime/subscribe", { table: "appends" })
  const person = await signUp(load)
  if (person === undefined) throw new Error("No account could be created")
  load.cookie = person.cookie
  // Every replica has loaded the flag, and listens.
  await sleep(1_000)
}

/** Of each kind of credentials: events reach them in different ways. */
const makeSubscribers = ({ anon, jwtSecret, service_role }: Cluster) => [
  new Subscriber("service_role", `apikey=${service_role}`),
  new Subscriber("anon", `apikey=${anon}`),
  new Subscriber("authenticated", `apikey=${anon}&jwt=${signedToken(jwtSecret, "listener")}`)
]

/** Causes one fault after the other: each once, then any. */
const causeFaults = async (
  { calmEvery, faults, kinds, progress, seconds, silence }: Options,
  cluster: Cluster,
  journal: Journal,
  random: Random,
  recovery: (fault: string) => Promise<void>
) => {
  const possible = faultsOf(cluster, silence)
  const names = kinds?.filter((kind) => possible.has(kind)) ?? [...possible.keys()]
  const until = Date.now() + seconds * 1_000
  for (let next = 0; next < faults && Date.now() < until; next++) {
    const name = names[next] ?? random.of(names)
    journal.faultBegins(name)
    await possible.get(name)?.(random, () => recovery(name))
    await allReady(cluster, name)
    journal.faultIsOver()
    progress?.(journal.summarize(), name)
    await sleep((next + 1) % calmEvery === 0 ? 20_000 : random.below(2_000))
  }
}

/** Replicas under faults and load. The report has what was found, with examples. */
export const runReplicas = async (options: Options): Promise<Report> => {
  const startedAt = Date.now()
  await using used = new AsyncDisposableStack()
  const cluster = used.use(await makeCluster(options))
  const haproxy = options.haproxy ? await startHaproxy(cluster) : undefined
  const balancer = used.use(haproxy ?? makeBalancer(cluster))
  const receiver = await makeReceiver()
  used.defer(receiver.close)
  const random = new Random(options.seed)
  const possible = faultsOf(cluster, options.silence)
  const skipped = (options.kinds ?? []).filter((kind) => !possible.has(kind))
  const journal = new Journal(options.seed, haproxy === undefined ? "within the rig" : "HAProxy", skipped)
  const load = new Load(cluster, balancer, journal, random)
  const exclusive = new Exclusive(cluster, load, journal)
  await prepare(cluster, balancer, load, receiver)

  const subscribers = makeSubscribers(cluster)
  const subscribed = subscribers.map((subscriber) => subscriber.run(balancer))
  used.defer(() => subscribers.forEach((subscriber) => subscriber.close()))
  await sleep(500)
  const working = [
    ...Array.from({ length: options.callers }, (_, n) => load.caller(n)),
    new Propagation(cluster, load, journal, random).run(),
    exclusive.run(options.machinery ? 20_000 : 5_000)
  ]
  const [first] = subscribers
  if (first === undefined) throw new Error("There is no subscriber")
  const recovery = makeRecovery(load, receiver, first, journal)
  await Promise.race([causeFaults(options, cluster, journal, random, recovery), Promise.all(working)])

  // Everything is as before: within seconds nothing fails any more.
  await sleep(3_000)
  const { findings } = journal.report
  const before = findings.status + findings.unready
  load.calm = true
  await sleep(2_000)
  load.stopping = true
  await Promise.all(working)
  if (findings.status + findings.unready > before) journal.found("notRecovered", "Requests fail after the last fault")
  // Events arrive within milliseconds.
  await sleep(1_000)
  await compare({ cluster, balancer, load, journal, receiver, subscribers })
  const client = new Client({ connectionString: cluster.databaseUrl })
  await client.connect()
  await exclusive.compare(client)
  await client.end()
  subscribers.forEach((subscriber) => subscriber.close())
  await Promise.all(subscribed)
  journal.report.seconds = Math.round((Date.now() - startedAt) / 1_000)
  return journal.summarize()
}
