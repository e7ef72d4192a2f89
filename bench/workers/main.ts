/**
 * `npm run bench:workers`: what a second worker brings on routes that only need the processor. The load generators need
 * it as well, so both are doubled: one worker and one generator on one core, against two of each on two cores. Linux
 * only, with taskset. Exit code 1 if a request fails, or if two workers do less than 1.8 times as much as one.
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
const rounds = quick ? 3 : 7
/** Of each generator. */
const connections = 16
const wanted = 1.8

/** A process and all that it has started. */
const family = (pid: number): ReadonlyArray<number> => [
  pid,
  ...readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" "))
    .filter((child) => child !== "")
    .flatMap((child) => family(Number(child)))
]

/** Restricts processes with all their threads to these cores. */
const pin = (pids: ReadonlyArray<number>, cores: string) => {
  for (const pid of pids) execFileSync("taskset", ["-a", "-c", "-p", cores, String(pid)], { stdio: "ignore" })
}

const timeOf = async (service: Service) => {
  const times = await Promise.all(family(service.pid).map(processorTime))
  return times.reduce((sum, time) => sum + time, 0)
}

/**
 * Seconds of processor time that all programs have used on these cores, and that other virtual machines took. The
 * time of interrupts is not included: here it is the network's.
 */
const used = (cores: ReadonlyArray<string>) => {
  const lines = readFileSync("/proc/stat", "utf8").split("\n")
  const fields = lines.filter((line) => cores.some((core) => line.startsWith(`cpu${core} `)))
  const ticks = fields.map((line) => {
    const [, user, nice, system, , , , , steal] = line.split(" ").map(Number)
    return (user ?? 0) + (nice ?? 0) + (system ?? 0) + (steal ?? 0)
  })
  return ticks.reduce((sum, one) => sum + one, 0) / 100
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
  /** The part of the cores that other programs took. */
  readonly others: number
  /** Processor time of one request in µs. */
  readonly service: number
  readonly generators: number
  readonly failures: number
}

const measure = async (
  service: Service,
  generators: ReadonlyArray<Remote<LoadProcess>>,
  cores: ReadonlyArray<string>,
  route: (service: Service) => Route
): Promise<Round> => {
  pin(family(service.pid), [...new Set(cores)].join(","))
  generators.forEach(({ pid }, index) => pin([pid], cores[index] ?? ""))
  const all = [...new Set(cores.flatMap((some) => some.split(",")))]
  const [before, from, start] = [await timeOf(service), used(all), performance.now()]
  const load = { ...route(service), url: service.url, seconds, connections }
  const results = await Promise.all(generators.map((generator) => generator.call("run", load)))
  const sum = (pick: (result: (typeof results)[number]) => number) => results.reduce((all, one) => all + pick(one), 0)
  const requests = sum((one) => one.requests)
  const available = ((performance.now() - start) / 1000) * all.length
  const [own, generating] = [(await timeOf(service)) - before, sum((one) => one.processor)]
  return {
    rate: sum((one) => one.requests / one.seconds),
    others: Math.max(0, used(all) - from - own - generating) / available,
    service: (own / requests) * 1e6,
    generators: (generating / requests) * 1e6,
    failures: sum((one) => one.failures)
  }
}

const compare = async (one: Service, two: Service) => {
  const generators = [remote<LoadProcess>("workers/load.ts"), remote<LoadProcess>("workers/load.ts")]
  const rows: Array<ReadonlyArray<string>> = []
  let good = true
  try {
    for (const [title, route] of Object.entries(routes)) {
      const [single, double, apart]: [Array<Round>, Array<Round>, Array<Round>] = [[], [], []]
      // The first round compiles.
      for (let round = 0; round <= rounds; round++) {
        console.error(`${title}: round ${round} of ${rounds}`)
        single.push(await measure(one, generators.slice(0, 1), ["0"], route))
        double.push(await measure(two, generators, ["0", "1"], route))
        apart.push(await measure(one, generators, ["0,1", "0,1"], route))
      }
      const of = (all: ReadonlyArray<Round>, pick: (round: Round) => number) => median(all.slice(1).map(pick))
      const left = ({ others, rate }: Round) => rate / (1 - others)
      const ratio = of(double, left) / of(single, left)
      good &&=
        (ratio >= wanted || title === databaseRoute) &&
        [...single, ...double, ...apart].every(({ failures }) => failures === 0)
      const rate = ({ rate }: Round) => rate
      rows.push([
        title,
        ...[single, double].map((all) => whole(of(all, rate))),
        ...[single, double].map((all) => percent(of(all, ({ others }) => others))),
        ratio.toFixed(2),
        ...[single, double].map((all) => whole(of(all, ({ service }) => service))),
        whole(of(double, ({ generators }) => generators)),
        whole(of(apart, rate))
      ])
    }
  } finally {
    for (const { stop } of generators) await stop()
  }
  console.log("\nRequests per second of one worker and one generator on one core, of two and two on two cores,")
  console.log(
    "and of one worker with the generators on both cores. Others: the part of these cores that other programs"
  )
  console.log("took; the ratio is per processor time that they left. µs of processor time a request\n")
  const head = [
    "",
    "one",
    "two",
    "others",
    "others",
    "ratio",
    "µs, one",
    "µs, two",
    "generator µs",
    "one on both cores"
  ]
  printTable(head, rows, 1)
  const memory = await Promise.all(family(two.pid).slice(0, 1).concat(workersOf(two)).map(resident))
  console.log(`\nMemory with two workers: parent and workers ${memory.map((size) => whole(size)).join(", ")} MiB`)
  return good ? 0 : 1
}

const percent = (part: number) => `${whole(part * 100)} %`

const workersOf = ({ pid }: Service) =>
  family(pid)
    .slice(1)
    .filter((child) => readFileSync(`/proc/${child}/cmdline`, "utf8").includes("main.ts"))

const withWorkers = <A>(count: number, use: (service: Service) => Promise<A>) =>
  withService({ entry: defaultEntry, profile: false, setup, env: { SVC_WORKERS: String(count) } }, (service) =>
    ask(service.url, service.credentials.service, "/api/flags", newFlag("bench-targeting", rules.targeting)).then(() =>
      use(service)
    )
  )

console.log(`Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before`)
process.exitCode = await withWorkers(1, (one) => withWorkers(2, (two) => compare(one, two)))
