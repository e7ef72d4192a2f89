import { bySession, failureOf, pageHeaders } from "./request.ts"

interface Upload {
  readonly path: string
  readonly body: Blob
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Bytes that have been sent. */
  readonly onProgress: (sent: number) => void
}

/** Not by `fetch`, which does not report how much has been sent. */
const post = ({ body, headers, onProgress, path, signal }: Upload): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const stop = () => request.abort()
    const sent = pageHeaders(path)
    request.open("POST", path)
    for (const [name, value] of Object.entries({ ...sent, ...headers })) request.setRequestHeader(name, value)
    request.upload.addEventListener("progress", ({ loaded }) => onProgress(loaded))
    request.addEventListener("load", () => {
      const { responseText, status } = request
      if (status < 300) return resolve(JSON.parse(responseText))
      const id = request.getResponseHeader("x-request-id") ?? ""
      reject(failureOf({ status, headers: new Headers({ "x-request-id": id }) }, responseText, sent))
    })
    request.addEventListener("error", () => reject(new Error("The connection to the service was lost")))
    request.addEventListener("abort", () => reject(signal.reason as Error))
    request.addEventListener("loadend", () => signal.removeEventListener("abort", stop))
    if (signal.aborted) return reject(signal.reason as Error)
    signal.addEventListener("abort", stop)
    request.send(body)
  })

/** Sends a file of any size, which the browser reads from disk as it goes. */
export const upload = (given: Upload): Promise<unknown> => bySession(() => post(given), given.signal)
