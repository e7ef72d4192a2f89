import { type LoggedRequest, type RequestQuery } from "./Request.ts"

/** A request as it is kept. Slots of the ring are overwritten, so that a request allocates no lasting object. */
export interface Kept {
  /** The arrival, in ms since 1970. */
  at: number
  id: string
  method: string
  path: string
  /** The template of its path, such as `/v1/db/{table}`; "" if it has no route. */
  route: string
  status: number
  /** The code of the error; "" without one. */
  code: string
  millis: number
  /** The length of the body; -1 if it was not known when the response began. */
  bytes: number
  /** The API key; 0 if there was none, or not a valid one. */
  keyId: number
  keyLabel: string
  /** The id at the identity provider; "" if a key was sent. */
  identity: string
  /** Sent by a page of the dashboard. */
  dashboard: boolean
}

const empty = (): Kept => ({
  at: 0,
  id: "",
  method: "",
  path: "",
  route: "",
  status: 0,
  code: "",
  millis: 0,
  bytes: -1,
  keyId: 0,
  keyLabel: "",
  identity: "",
  dashboard: false
})

/** The latest requests. */
export class Ring {
  private readonly slots: ReadonlyArray<Kept>
  private written = 0

  constructor(size: number) {
    this.slots = Array.from({ length: size }, empty)
  }

  add(request: Kept): void {
    const slot = this.slots[this.written++ % this.slots.length]
    if (slot === undefined) return
    // Object.assign takes a microsecond, which is most of what a request costs here.
    slot.at = request.at
    slot.id = request.id
    slot.method = request.method
    slot.path = request.path
    slot.route = request.route
    slot.status = request.status
    slot.code = request.code
    slot.millis = request.millis
    slot.bytes = request.bytes
    slot.keyId = request.keyId
    slot.keyLabel = request.keyLabel
    slot.identity = request.identity
    slot.dashboard = request.dashboard
  }

  /** The newest first. They are only valid until the next request. */
  *newest(): Generator<Kept> {
    const { length } = this.slots
    for (let at = this.written - 1; at >= Math.max(0, this.written - length); at--) {
      const slot = this.slots[at % length]
      if (slot !== undefined) yield slot
    }
  }
}

/** Whether a request matches a query. */
export const selects =
  ({ dashboard, key, method, path, request_id, route, slower_than = 0, status }: RequestQuery) =>
  (request: Kept): boolean =>
    (method === undefined || request.method === method) &&
    (route === undefined || request.route === route) &&
    (status === undefined || matches(status, request.status)) &&
    (path === undefined || request.path.toLowerCase().includes(path.toLowerCase())) &&
    (request_id === undefined || request.id === request_id) &&
    (key === undefined || request.keyId === key) &&
    request.millis >= slower_than &&
    !(dashboard === "false" && request.dashboard)

/** `wanted`: a status, or a class such as `4xx`. */
const matches = (wanted: string, status: number) =>
  wanted.endsWith("x") ? Math.floor(status / 100) === Number(wanted[0]) : status === Number(wanted)

/** API keys that a caller has put into the path by mistake. */
const rawKeys = /svc_([ps])k_[\w-]+/g

/** A path without the API keys that are in it. */
export const masked = (path: string): string => (path.includes("svc_") ? path.replaceAll(rawKeys, "svc_$1k_…") : path)

/** A request as the API shows it. */
export const shown = (request: Kept): LoggedRequest => {
  const { at, bytes, code, dashboard, id, identity, keyId, keyLabel, method, millis, path, route, status } = request
  return {
    at: new Date(at).toISOString(),
    request_id: id,
    method,
    path: masked(path),
    route: route === "" ? null : route,
    status,
    code: code === "" ? null : code,
    milliseconds: Math.round(millis * 100) / 100,
    bytes: bytes < 0 ? null : bytes,
    key: keyId === 0 ? null : { id: keyId, label: keyLabel },
    identity: identity === "" ? null : identity,
    dashboard
  }
}
