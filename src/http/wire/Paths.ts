/** The last segment of a URL's path, percent-decoded; undefined if the encoding is invalid. */
export const lastSegment = (url: string): string | undefined => {
  const mark = url.indexOf("?")
  const path = mark < 0 ? url : url.slice(0, mark)
  const segment = path.slice(path.lastIndexOf("/") + 1)
  if (!segment.includes("%")) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

/** The query string of a URL, without its question mark. */
export const queryOf = (url: string): string => {
  const mark = url.indexOf("?")
  return mark < 0 ? "" : url.slice(mark + 1)
}

const imports = /^\/v1\/db\/(?!rpc\/)([^/?]+)\/import(?:\?|$)/

/** Whether a URL is that of an import of rows. */
export const isImport = (url: string) => imports.test(url)

/** The table of such a URL, percent-decoded; undefined if the encoding is invalid. */
export const importedTable = (url: string): string | undefined => lastSegment(imports.exec(url)?.[1] ?? "")

const deployments = /^\/api\/functions\/[^/?]+(?:\?|$)/

/** Whether a request has the files of a function in its body. */
export const isDeployment = ({ method, url }: { readonly method: string; readonly url: string }) =>
  method === "PUT" && deployments.test(url)
