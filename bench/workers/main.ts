/**
 * `npm run bench:workers`: what a second worker brings on routes that only need the processor. The load generators need
 * it as well, and so do other programs of the machine. So the comparison is with two services that have nothing in
 * common, one worker and one generator each, in turns on the same two cores, by processor time: twice what both cost a
 * request there, over what they cost a request with two workers. This holds if the workers leave no core idle, which is
 * measured too. Linux only, with taskset. Exit code 1 if a request fails, a core is idle, or the ratio is below 1.8.
 */
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { cpus, loadavg } from "node:os"
import { context, newFlag, rules } from "../flags/rules.ts"
import { median, printTable, whole } from "../rows/table.ts"
import { type Remote, remote } from "../support/remote.ts"
import { processorTime, resident } from "../support/resources.ts"
import { ask, defaultEntry, type Service, withService } from "../support/service.ts"
import { type Load, type LoadProcess } from "./load.ts"

const quick = process.argv.includes("--quick")
const seconds = quick ? 2 : 4
const rounds = quick ? 4 : 7
/** Of each generator. */
const connections = 64
const wanted = 1.8
const cores = "0,1"
const maxIdle = 0.1

/** A process and all that it has started. */
const family = (pid: number): ReadonlyArray<number> => [
  pid,
  ...readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" "))
    .filter((child) => child !== "")
    .flatMap((child) => family(Number(child)))
]

/** Restricts processes with all their threads to the two cores. */
const pin = (pids: ReadonlyArray<number>) => {
  for (const pid of pids) execFileSync("taskset", ["-a", "-c", "-p", cores, String(pid)], { stdio: "ignore" })
}

const timeOf = async (service: Service) => {
  const times = await Promise.all(family(service.pid).map(processorTime))
  return times.reduce((sum, time) => sum + time, 0)
}

type Route = Omit<Load, "url" | "seconds" | "connections">

/** Needs PostgreSQL as well, which is counted as part of the service. For information only. */
const databaseRoute = "one row by primary key"
const setup = () => [
  "create table bench_workers as select id, 'row ' || id as v from generate_series(1, 1000) id",
  "alter table bench_workers add primary key (id)"
]

const routes: Readonly<Record<string, (service: Service) => Route>> = {
  "evaluation of a flag with a rule": ({ credentials: { anon } }) => ({
    method: "POST",
    path: "/ofrep/v1/evaluate/flags/bench-targeting",
    headers: { apikey: anon, "content-type": "application/json" },
    body: JSON.stringify({ context }),
    status: 200
  }),
  "401 for an unknown key": () => ({ method: "GET", path: "/v1/db/none", headers: { apikey: "unknown" }, status: 401 }),
  [databaseRoute]: ({ credentials: { service } }) => ({
    method: "GET",
    path: "/v1/db/bench_workers?id=eq.7",
    headers: { apikey: service },
    status: 200
  })
}

interface Round {
  /** Requests per second. */
  readonly rate: number
  /** Processor time of one request in µs. */
  readonly service: number
  readonly generators: number
  /** The part of the two cores that nothing used. */
  readonly idle: number
  readonly failures: number
}

/** Seconds for which the two cores have had nothing to do. */
const idle = () =>
  readFileSync("/proc/stat", "utf8")
    .split("\n")
    .filter((line) => /^cpu[01] /.test(line))
    .reduce((sum, line) => sum + Number(line.split(" ")[4]) / 100, 0)

/** Each generator calls one of the services in turn. */
const measure = async (
  services: ReadonlyArray<Service>,
  generators: ReadonlyArray<Remote<LoadProcess>>,
  route: (service: Service) => Route
): Promise<Round> => {
  for (const service of services) pin(family(service.pid))
  pin(generators.map(({ pid }) => pid))
  const timeOfAll = async () => (await Promise.all(services.map(timeOf))).reduce((sum, time) => sum + time, 0)
  const [before, idleBefore, start] = [await timeOfAll(), idle(), performance.now()]
  const results = await Promise.all(
    generators.map((generator, index) => {
      const service = services[index % services.length] as Service
      return generator.call("run", { ...route(service), url: service.url, seconds, connections })
    })
  )
  const sum = (pick: (result: (typeof results)[number]) => number) => results.reduce((all, one) => all + pick(one), 0)
  const requests = sum((one) => one.requests)
  return {
    rate: sum((one) => one.requests / one.seconds),
    service: (((await timeOfAll()) - before) / requests) * 1e6,
    generators: (sum((one) => one.processor) / requests) * 1e6,
    idle: ((idle() - idleBefore) * 1000) / (2 * (performance.now() - start)),
    failures: sum((one) => one.failures)
  }
}

const compare = async (apart: ReadonlyArray<Service>, two: Service) => {
  const generators = [remote<LoadProcess>("workers/load.ts"), remote<LoadProcess>("workers/load.ts")]
  const rows: Array<ReadonlyArray<string>> = []
  let good = true
  try {
    for (const [title, route] of Object.entries(routes)) {
      const [single, double]: [Array<Round>, Array<Round>] = [[], []]
      // The first round compiles.
      for (let round = 0; round <= rounds; round++) {
        console.error(`${title}: round ${round} of ${rounds}`)
        const both = await measure(apart, generators, route)
        single.push({ ...both, rate: both.rate / 2 })
        double.push(await measure([two], generators, route))
      }
      const of = (all: ReadonlyArray<Round>, pick: (round: Round) => number) => median(all.slice(1).map(pick))
      const cost = (all: ReadonlyArray<Round>) => of(all, ({ generators, service }) => generators + service)
      const ratio = (2 * cost(single)) / cost(double)
      const unused = of(double, ({ idle }) => idle)
      good &&= title === databaseRoute || (ratio >= wanted && unused <= maxIdle)
      good &&= [...single, ...double].every(({ failures }) => failures === 0)
      const both = [single, double]
      rows.push([
        title,
        ratio.toFixed(2),
        `${whole(unused * 100)} %`,
        ...both.map((all) => whole(of(all, ({ service }) => service))),
        ...both.map((all) => whole(of(all, ({ generators }) => generators))),
        ...both.map((all) => whole(of(all, ({ rate }) => rate)))
      ])
    }
  } finally {
    for (const { stop } of generators) await stop()
  }
  console.log(
    "\nOne of two services, and one service with two workers: µs of processor time a request; requests per second\n"
  )
  const head = ["", "ratio", "idle", "µs, one", "µs, two", "generator, one", "two", "per second, one", "two"]
  printTable(head, rows, 1)
  const memory = await Promise.all([two.pid, ...workersOf(two)].map(resident))
  console.log(`\nMemory with two workers: parent and workers ${memory.map((size) => whole(size)).join(", ")} MiB`)
  return good ? 0 : 1
}

const workersOf = ({ pid }: Service) =>
  family(pid)
    .slice(1)
    .filter((child) => readFileSync(`/proc/${child}/cmdline`, "utf8").includes("main."))

const withWorkers = <A>(count: number, use: (service: Service) => Promise<A>) =>
  withService({ entry: defaultEntry, profile: false, setup, env: { SVC_WORKERS: String(count) } }, (service) =>
    ask(service.url, service.credentials.service, "/api/flags", newFlag("bench-targeting", rules.targeting)).then(() =>
      use(service)
    )
  )

console.log(`Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before`)
process.exitCode = await withWorkers(1, (one) =>
  withWorkers(1, (other) => withWorkers(2, (two) => compare([one, other], two)))
)
