import { type Random } from "../isolation/random.ts"
import { type Case } from "./cases.ts"

/** A request of `/v1/db` as it is sent. */
export interface Asked {
  readonly role: "anon" | "authenticated" | "service_role"
  readonly method: "GET" | "HEAD" | "POST" | "PATCH" | "PUT" | "DELETE"
  /** `notes?id=eq.1`, or `rpc/add?a=1`. */
  readonly path: string
  readonly schema: string
  readonly prefer?: string
  readonly accept?: string
  readonly body?: unknown
}

export const textOf = ({ accept, body, method, path, prefer, role, schema }: Asked) =>
  [
    `${method} /v1/db/${path}`,
    `(${role})`,
    ...(schema === "public"
      ? []
      : [`${method === "GET" || method === "HEAD" ? "Accept" : "Content"}-Profile: ${schema}`]),
    ...(prefer === undefined ? [] : [`Prefer: ${prefer}`]),
    ...(accept === undefined ? [] : [`Accept: ${accept}`]),
    ...(body === undefined ? [] : [JSON.stringify(body)])
  ].join(" ")

const values: Readonly<Record<string, unknown>> = {
  int: 1,
  bigint: 2,
  text: "a",
  bool: true,
  numeric: 1.5,
  uuid: "00000000-0000-0000-0000-000000000001",
  timestamptz: "2020-01-01T00:00:00Z",
  jsonb: { a: 1 },
  "int[]": [1],
  int4range: "[1,2)"
}

const roles = ["anon", "anon", "anon", "authenticated", "service_role"] as const

/** So many of them, in their order. */
const someOf = <A>(random: Random, count: number, all: ReadonlyArray<A>): ReadonlyArray<A> => {
  const chosen = new Set<number>()
  while (chosen.size < count) chosen.add(random.below(all.length))
  return all.filter((_, at) => chosen.has(at))
}

/** What is asked of a case; some fail, for example writes to a view. */
export const requestsOn = ({ isFunction, kind, name, schema }: Case, random: Random): ReadonlyArray<Asked> => {
  const value = values[kind]
  const literal = encodeURIComponent(
    kind === "int[]" ? "{1}" : typeof value === "object" ? JSON.stringify(value) : String(value)
  )
  const asked = (
    method: Asked["method"],
    path: string,
    more: Omit<Asked, "role" | "method" | "path" | "schema"> = {}
  ): Asked => ({
    role: random.of(roles),
    method,
    path,
    schema,
    ...more
  })
  let lastId = 1000
  const id = () => ++lastId
  if (isFunction) {
    const call = `rpc/${name}`
    return [
      asked("POST", call, { body: {} }),
      asked("POST", call, { body: { a: value } }),
      asked("GET", `${call}?a=${literal}`),
      asked("GET", call),
      ...someOf(random, 4, [
        asked("POST", `${call}?limit=1`, { body: {}, prefer: "count=exact" }),
        asked("POST", call, { body: { a: value }, accept: "text/csv" }),
        asked("HEAD", call),
        asked("POST", `${call}?select=*&order=v&v=not.is.null`, { body: {} }),
        asked("POST", call, { body: {}, prefer: "tx=rollback" })
      ])
    ]
  }
  return [
    asked("GET", name),
    asked("POST", name, { body: { id: id(), v: value }, prefer: "return=minimal" }),
    asked("POST", name, { body: { id: id() }, prefer: "return=representation" }),
    asked("PATCH", `${name}?id=eq.1`, {
      body: { t: "b" },
      prefer: random.of(["return=minimal", "return=representation"])
    }),
    ...someOf(random, 6, [
      asked("GET", `${name}?select=id,v&v=eq.${literal}&order=v`),
      asked("GET", `${name}?select=v::text,t&v=neq.${literal}&order=id.desc&limit=2`),
      asked("GET", `${name}?select=id,${name}_computed&order=${name}_computed`),
      asked("GET", `${name}?select=id,${name}_related(id,v)`),
      asked("GET", `${name}?${name}_computed=not.is.null&select=id`),
      asked("GET", `${name}?select=v.count(),t`),
      asked("GET", `${name}?select=v.max()&id=in.(1,2)`),
      asked("GET", `${name}?or=(v.is.null,t.like.a*)`, { prefer: "count=exact" }),
      asked("GET", `${name}?select=w,v->a&w=not.is.null&order=w`),
      asked("GET", `${name}?select=w&order=w`),
      asked("GET", `${name}?id=eq.1`, { accept: "application/vnd.pgrst.object+json" }),
      asked("GET", `${name}?t=isdistinct.b`, { accept: "text/csv" }),
      asked("HEAD", name, { prefer: "count=planned" })
    ]),
    ...someOf(random, 4, [
      asked("POST", name, {
        body: [
          { id: id(), v: value, t: "x" },
          { id: id(), v: null }
        ],
        prefer: "missing=default"
      }),
      asked("POST", name, { body: { id: 1, v: value }, prefer: "resolution=merge-duplicates" }),
      asked("POST", name, { body: { id: 1, v: value }, prefer: "resolution=ignore-duplicates" }),
      asked("POST", `${name}?columns=id,t`, { body: { id: id(), t: "x" }, prefer: "missing=default" }),
      asked("PUT", `${name}?id=eq.5`, { body: { id: 5, v: value, t: "x" } }),
      asked("POST", name, { body: { id: id(), w: value } }),
      asked("PATCH", `${name}?v=not.is.null`, { body: { v: value, id: 1 } }),
      asked("PATCH", name, { body: { t: "b" }, prefer: "tx=rollback" })
    ]),
    asked("DELETE", `${name}?id=eq.${random.of([2, 2, 1])}`, {
      prefer: random.of(["return=minimal", "return=representation"])
    })
  ]
}
