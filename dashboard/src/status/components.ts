import { useQuery } from "@tanstack/react-query"
import { ago } from "../ui/format.ts"
import { ApiError } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"

export interface Component {
  readonly name: string
  readonly state: "ok" | "off" | "down" | "unknown"
  /** Version, or what is wrong. */
  readonly about: string
}

type Report = Omit<Component, "name">

/** ms between checks: what has stopped is shown within 10 s, even if its answer takes a while. */
const interval = 4000
const patience = 5000

const duration = (seconds: number) => {
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60
  ]
  return days > 0
    ? `${days} d ${hours} h`
    : hours > 0
      ? `${hours} h ${minutes} min`
      : minutes > 0
        ? `${minutes} min`
        : `${seconds} s`
}

/** Not configured is no failure. */
const failed = (error: unknown): Report =>
  error instanceof ApiError && error.body.code.endsWith("NOT_CONFIGURED")
    ? { state: "off", about: error.message }
    : error instanceof DOMException && error.name === "TimeoutError"
      ? { state: "down", about: `No response within ${patience / 1000} s` }
      : { state: "down", about: error instanceof Error ? error.message : String(error) }

/** Every component with the request that shows whether it works. */
const checks: Readonly<Record<string, (signal: AbortSignal) => Promise<Report>>> = {
  Service: async (signal) => {
    const config = await call("GET /api/dashboard/config", { signal })
    return { state: "ok", about: `version ${config.version}` }
  },
  Database: async (signal) => {
    const { database, uptime_seconds } = await call("GET /v1/status", { signal })
    return { state: "ok", about: `PostgreSQL ${database.version}; the service is up for ${duration(uptime_seconds)}` }
  },
  Realtime: async (signal) => {
    const { connected_clients, listener_connected, listener_since } = await call("GET /api/realtime/status", { signal })
    return listener_connected
      ? { state: "ok", about: `listening, ${connected_clients} connected` }
      : { state: "down", about: `disconnected from PostgreSQL ${ago(listener_since)}: it connects again by itself` }
  },
  "Flag engine": async (signal) => {
    const { address, connected, engine, error } = await call("GET /api/flags/status", { signal })
    const where = engine === "embedded" ? "embedded" : `flagd at ${address ?? "?"}`
    return connected ? { state: "ok", about: where } : { state: "down", about: `${where}: ${error ?? "not connected"}` }
  },
  "Object store": async (signal) => {
    const { buckets } = await call("GET /api/storage/buckets/", { signal })
    return { state: "ok", about: `${buckets.length} ${buckets.length === 1 ? "bucket" : "buckets"}` }
  },
  "Identity provider": async (signal) => {
    await call("GET /v1/auth/identities", { query: { page_size: 1 }, signal })
    return { state: "ok", about: "responding" }
  },
  "OAuth2 server": async (signal) => {
    await call("GET /api/oauth2/clients", { query: { page_size: 1 }, signal })
    return { state: "ok", about: "responding" }
  }
}

const checked = async (name: string, signal: AbortSignal): Promise<Report> => {
  try {
    return (await checks[name]?.(AbortSignal.any([signal, AbortSignal.timeout(patience)]))) ?? failed(undefined)
  } catch (error) {
    if (signal.aborted) throw error
    return failed(error)
  }
}

export const componentNames = Object.keys(checks)

export const useComponent = (name: string): Component => {
  const { data } = useQuery({
    queryKey: ["status", name],
    queryFn: ({ signal }) => checked(name, signal),
    refetchInterval: interval,
    refetchIntervalInBackground: false,
    retry: false
  })
  return { name, ...(data ?? { state: "unknown", about: "" }) }
}
