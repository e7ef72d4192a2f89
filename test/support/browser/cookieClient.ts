/** The result of a step: a response, or a URL that was not requested. */
export interface Page {
  readonly url: URL
  /** 0 when the URL was not requested. */
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** An HTTP client like a browser: stores cookies by host (shared by all ports) and path, and follows redirects. */
export interface Browsing {
  /** Follows redirects to their end, or until `stop` matches the next URL. */
  readonly go: (url: string | URL, stop?: (url: URL) => boolean, init?: RequestInit) => Promise<Page>
  /** Makes one request without following redirects. */
  readonly once: (url: string | URL, init?: RequestInit) => Promise<Page>
  readonly cookie: (host: string, name: string) => string | undefined
  readonly setCookie: (host: string, name: string, value: string) => void
  /** Another browser with the same cookies. */
  readonly copy: () => Browsing
}

const maxSteps = 20

interface Cookie {
  readonly name: string
  readonly path: string
  readonly value: string
}

/** RFC 6265 5.1.4. */
const isWithin = (pathname: string, path: string) =>
  pathname === path || pathname.startsWith(path.endsWith("/") ? path : `${path}/`)
const defaultPath = (pathname: string) => pathname.slice(0, Math.max(1, pathname.lastIndexOf("/")))

export const startBrowsing = (known?: ReadonlyMap<string, ReadonlyMap<string, Cookie>>): Browsing => {
  const jars = new Map([...(known ?? [])].map(([host, jar]) => [host, new Map(jar)]))
  const jarOf = (host: string) => {
    const jar = jars.get(host) ?? new Map<string, Cookie>()
    jars.set(host, jar)
    return jar
  }

  const keep = ({ hostname, pathname }: URL, line: string) => {
    const [pair = "", ...attributes] = line.split(";").map((part) => part.trim())
    const mark = pair.indexOf("=")
    const name = pair.slice(0, mark)
    const value = (key: string) =>
      attributes.find((one) => one.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1)
    const path = value("path") ?? defaultPath(pathname)
    const age = value("max-age")
    const expires = value("expires")
    const over = age === undefined ? Date.parse(expires ?? "") < Date.now() : Number(age) <= 0
    if (over) jarOf(hostname).delete(`${name} ${path}`)
    else jarOf(hostname).set(`${name} ${path}`, { name, path, value: pair.slice(mark + 1) })
  }

  const once = async (to: string | URL, init: RequestInit = {}): Promise<Page> => {
    const url = new URL(to)
    const headers = new Headers(init.headers)
    const cookies = [...jarOf(url.hostname).values()]
      .filter(({ path }) => isWithin(url.pathname, path))
      .map(({ name, value }) => `${name}=${value}`)
      .join("; ")
    if (cookies !== "") headers.set("cookie", cookies)
    const response = await fetch(url, { ...init, headers, redirect: "manual" })
    for (const line of response.headers.getSetCookie()) keep(url, line)
    return { url, status: response.status, headers: response.headers, text: await response.text() }
  }

  const go: Browsing["go"] = async (to, stop = () => false, init) => {
    let page = await once(to, init)
    for (let step = 0; step < maxSteps; step++) {
      const location = page.headers.get("location")
      if (page.status < 300 || page.status > 399 || location === null) return page
      const url = new URL(location, page.url)
      if (stop(url)) return { url, status: 0, headers: new Headers(), text: "" }
      page = await once(url)
    }
    throw new Error(`Too many redirects, last to ${page.url.origin}${page.url.pathname}`)
  }

  return {
    go,
    once,
    cookie: (host, name) => [...jarOf(host).values()].find((one) => one.name === name)?.value,
    setCookie: (host, name, value) => void jarOf(host).set(`${name} /`, { name, path: "/", value }),
    copy: () => startBrowsing(jars)
  }
}
