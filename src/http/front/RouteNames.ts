import { routes } from "../OpenApi.ts"

/** A step of the templates: by the text of a segment, or any segment. */
interface Step {
  readonly texts: Map<string, Step>
  any: Step | undefined
  /** The template that ends here. */
  name: string | undefined
}

const step = (): Step => ({ texts: new Map(), any: undefined, name: undefined })

const treeOf = (templates: ReadonlyArray<string>): Step => {
  const root = step()
  for (const template of templates) {
    let at = root
    for (const segment of template.split("/").slice(1)) {
      if (segment.startsWith("{")) at = at.any ??= step()
      else {
        const next = at.texts.get(segment) ?? step()
        at.texts.set(segment, next)
        at = next
      }
    }
    at.name = template
  }
  return root
}

/** The name of what begins at a slash; a text goes before a parameter. As deep as the longest template at most. */
const find = (at: Step, path: string, slash: number): string | undefined => {
  if (slash < 0) return at.name
  const next = path.indexOf("/", slash + 1)
  const segment = path.slice(slash + 1, next < 0 ? path.length : next)
  const known = at.texts.get(segment)
  const found = known === undefined ? undefined : find(known, path, next)
  return found ?? (at.any === undefined || segment === "" ? undefined : find(at.any, path, next))
}

/** Finds the template of a path in less than a microsecond; "" if there is none. */
export const routeNamesOf = (templates: ReadonlyArray<string>) => {
  const root = treeOf(templates)
  return (path: string): string => (path.startsWith("/") ? (find(root, path, 0) ?? "") : "")
}

const byTemplate = routeNamesOf([
  ...routes.keys(),
  "/rest/v1/",
  "/rest/v1/{table}",
  "/rest/v1/rpc/{function}",
  "/functions/v1/{function}",
  "/realtime/v1/websocket",
  "/realtime/v1/api/broadcast",
  "/realtime/v1/api/broadcast/{topic}/events/{event}"
])

/** The name of a path's route, such as `/v1/db/{table}`. */
export const routeName = (path: string): string =>
  path === "/dashboard" || path.startsWith("/dashboard/")
    ? "/dashboard/{file}"
    : path.startsWith("/storage/v1/")
      ? "/storage/v1/{path}"
      : byTemplate(path)
