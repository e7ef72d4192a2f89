/** psql and curl: the baseline's client and the service's. Each reports the time of its work without that of its start. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { type Service } from "../support/service.ts"

const output = async (program: string, options: ReadonlyArray<string>) => {
  const { stdout } = await promisify(execFile)(program, options, { maxBuffer: 1024 * 1024 })
  return stdout.trim()
}

/** Runs commands of psql in one session; returns their seconds. */
export const psql = async ({ socketUrl }: Service, commands: ReadonlyArray<string>) => {
  const options = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", socketUrl, "-o", "/dev/null"]
  const text = await output("psql", [...options, "-c", "\\timing on", ...commands.flatMap((each) => ["-c", each])])
  const times = Array.from(text.matchAll(/^Time: ([\d.]+) ms/gm), ([, millis]) => Number(millis))
  if (times.length === 0) throw new Error(`psql printed no times: ${text.slice(0, 500)}`)
  return times.reduce((sum, millis) => sum + millis, 0) / 1000
}

export interface Request {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as it is read. */
  readonly file?: string
}

/** Sends a request with the service key. */
export const curl = async ({ credentials, url }: Service, { file, headers, method, path }: Request) => {
  const all = { apikey: credentials.service, expect: "", ...headers }
  const text = await output("curl", [
    "-sS",
    `-X${method}`,
    "-o/dev/null",
    "-w%{http_code} %{time_total} %{size_download}",
    ...Object.entries(all).flatMap(([name, value]) => ["-H", `${name}:${value === "" ? "" : ` ${value}`}`]),
    ...(file === undefined ? [] : ["-T", file]),
    url + path
  ])
  const [status, seconds, bytes] = text.split(" ").map(Number)
  if (status !== 200 && status !== 201) throw new Error(`${status} to ${method} ${path}`)
  return { seconds: seconds ?? Number.NaN, bytes: bytes ?? 0 }
}
