import { type LoggedRequest, type RequestQuery } from "./Request.ts"
import { type Kept } from "./Ring.ts"

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
