import { HttpServerResponse } from "effect/http"
import { type DashboardFile } from "../../services/ports/DashboardFiles.ts"
import { preferredEncoding } from "./Encoding.ts"

const types: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
  woff2: "font/woff2"
}

const encoded = ({ plain, ...bodies }: DashboardFile, accepted: string | undefined) => {
  const encoding = preferredEncoding(
    accepted,
    (["br", "gzip"] as const).filter((name) => bodies[name] !== undefined)
  )
  return encoding === undefined
    ? { body: plain, encoding: {} }
    : { body: bodies[encoding] ?? plain, encoding: { "content-encoding": encoding } }
}

/** The response with a file that vite has built, in an encoding that the client accepts. */
export const builtFile = (name: string, file: DashboardFile, accepted: string | undefined) => {
  const { body, encoding } = encoded(file, accepted)
  return HttpServerResponse.uint8Array(body, {
    contentType: types[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
    headers: {
      ...encoding,
      // The names of assets contain a hash of their content.
      "cache-control": name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache",
      vary: "Accept-Encoding"
    }
  })
}
