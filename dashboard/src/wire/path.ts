interface Parts {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
}

/** The path and query of an endpoint. A path that ends with `/` is the root of its group, which is served without it. */
export const pathOf = (template: string, { params = {}, query = {} }: Parts = {}) => {
  const path = template.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])))
  const text = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]]
    )
  ).toString()
  return `${path.length > 1 ? path.replace(/\/$/, "") : path}${text === "" ? "" : `?${text}`}`
}
