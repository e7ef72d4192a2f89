/** Evaluations over the network, each compared with a bare node:http server with the same response. */
import { type LoadResult } from "../rows/load.ts"
import { baseline, load } from "../support/processes.ts"
import { context, newFlag, rules } from "./rules.ts"
import { type Scenario } from "../rows/scenarios.ts"
import { ask, sample, type Service } from "../support/service.ts"
import { median, millis, printTable, whole } from "../rows/table.ts"

interface Way extends Scenario {
  readonly url: string
}

const json = { "content-type": "application/json" }
const isOn = (body: string) => (JSON.parse(body) as { readonly value?: unknown }).value === true

const ways = ({ flagPorts, url }: Service): ReadonlyArray<Way> => {
  const way = (id: string, title: string, url: string, path: string, body: object): Way => ({
    id,
    title,
    url,
    method: "POST",
    paths: [path],
    headers: ({ anon }) => ({ ...json, apikey: anon }),
    body: JSON.stringify(body),
    right: isOn
  })
  const [connect, ofrep] = [`http://127.0.0.1:${flagPorts.evaluation}`, `http://127.0.0.1:${flagPorts.ofrep}`]
  return [
    way("c1", "POST /api/flags/evaluate", url, "/api/flags/evaluate", { flagKey: "bench-targeting", context }),
    way("c2", "the same, static", url, "/api/flags/evaluate", { flagKey: "bench-static-on", context }),
    way("c3", "OFREP on the API's port", url, "/ofrep/v1/evaluate/flags/bench-targeting", { context }),
    way("c4", "OFREP on FLAGS_HTTP_PORT", ofrep, "/ofrep/v1/evaluate/flags/bench-targeting", { context }),
    way("c5", "Connect JSON on FLAGS_PORT", connect, "/flagd.evaluation.v2.Service/ResolveBoolean", {
      flagKey: "bench-targeting",
      context
    })
  ]
}

const measure = async (service: Service, way: Way, seconds: number) => {
  const { body, headers, id, method, paths, title, url } = way
  const bare = await baseline(await sample({ ...service, url }, way))
  const request = { method, paths, headers: headers(service.credentials), ...(body === undefined ? {} : { body }) }
  try {
    await load({ ...request, url: bare.url, seconds: 1 })
    await load({ ...request, url, seconds: 3 })
    const [ours, bases]: [Array<LoadResult>, Array<number>] = [[], []]
    bases.push((await load({ ...request, url: bare.url, seconds })).rate)
    for (let n = 0; n < 3; n++) {
      ours.push(await load({ ...request, url, seconds }))
      bases.push((await load({ ...request, url: bare.url, seconds })).rate)
    }
    const ratios = ours.map(({ rate }, n) => rate / (((bases[n] ?? 0) + (bases[n + 1] ?? 0)) / 2))
    const failures = ours.reduce((sum, { failures }) => sum + failures, 0)
    const of = (pick: (result: LoadResult) => number) => median(ours.map(pick))
    const cells = [whole(of(({ rate }) => rate)), median(ratios).toFixed(2)]
    const times = [millis(of(({ p50 }) => p50)), millis(of(({ p99 }) => p99))]
    return { failures, cells: [id, title, ...cells, ...times, whole(median(bases))] }
  } finally {
    await bare.stop()
  }
}

export const measureWire = async (service: Service, quick: boolean) => {
  const create = (flag: object) => ask(service.url, service.credentials.service, "/api/flags", flag)
  await create(newFlag("bench-targeting", rules.targeting))
  await create({ ...newFlag("bench-static-on", {}), defaultVariant: "on" })
  const rows = []
  for (const way of ways(service)) {
    console.error(`${way.id} …`)
    rows.push(await measure(service, way, quick ? 1 : 3))
  }
  console.log("\nc: evaluations over the wire, 32 connections; target 0.35 of node:http\n")
  const cells = rows.map(({ cells }) => cells)
  printTable(["", "", "a second", "ratio", "p50 ms", "p99", "node:http"], cells, 2)
  return rows.every(({ failures }) => failures === 0)
}
