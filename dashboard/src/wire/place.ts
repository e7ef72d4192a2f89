import { chosenPlace, lostOf, type Place, placeIn, placeParts, withoutPlace, withPlace } from "./placeAddress.ts"
import { service, viewerOf } from "./viewer.ts"

/**
 * Which database the requests of this page are about, and as whom Tables and SQL run: the parameters `branch` and `as` of
 * its address. They hold for as long as the page is loaded. Another place is another load, so that no request, form or
 * result of one database can reach another.
 */

/** Without the words for nothing. */
const named = (place: Place): Place =>
  Object.fromEntries(Object.entries(place).filter(([part, value]) => value !== chosenPlace[part as keyof Place]))

const name = "svc.place"
const readKept = (): Place => {
  try {
    return placeIn(sessionStorage.getItem(name) ?? "")
  } catch {
    return {}
  }
}
const keep = (place: Place) => {
  try {
    sessionStorage.setItem(name, withPlace("", place))
  } catch {
    // Without storage, the address alone says it.
  }
}

/** The parts of `window` that matter here; tests run without a browser. */
interface Page {
  readonly location?: {
    readonly pathname: string
    readonly search: string
    readonly assign: (url: string) => void
    readonly reload: () => void
  }
  readonly addEventListener?: (type: "pageshow", listener: (event: { readonly persisted: boolean }) => void) => void
}
const page = globalThis as Page

const address = placeIn(page.location?.search ?? "")
const here = named(address)
const viewer = here.as === undefined ? service : viewerOf(here.as)
const branch = here.branch

export const place = {
  /** As the address has it. */
  here,
  /** The id of the branch; undefined: the main database. */
  branch,
  /** As whom rows are read and statements run. */
  viewer: viewer ?? service,
  /** What the address names and can't be, which the service must not be asked about. */
  invalid: [
    ...(branch === undefined || /^[1-9]\d{0,14}$/.test(branch) ? [] : [`branch=${branch}`]),
    ...(viewer === undefined ? [`as=${here.as}`] : [])
  ],
  /** What the tab was on before this load, and the address has lost: the user must choose. */
  lost: lostOf(address, readKept())
}

if (Object.keys(place.lost).length === 0 && place.invalid.length === 0) keep(here)

/** Whether the page may send requests about a database. */
export const isSettled = place.invalid.length === 0 && Object.keys(place.lost).length === 0

/** A page that the browser has kept is as it was, but the tab was elsewhere meanwhile. */
page.addEventListener?.("pageshow", ({ persisted }) => {
  if (!persisted) return
  if (Object.keys(lostOf(here, readKept())).length > 0) page.location?.reload()
  else keep(here)
})

/** Loads this address in another place. The browser asks about what is not saved. */
export const goToPlace = (next: Place) => {
  const had = { ...readKept(), ...here }
  const written = Object.fromEntries(
    placeParts.flatMap((part) => {
      // What the tab had is taken back in words, or it would be asked about.
      const value = next[part] ?? (had[part] === undefined ? undefined : chosenPlace[part])
      return value === undefined ? [] : [[part, value]]
    })
  )
  const { location } = page
  location?.assign(location.pathname + withPlace(location.search, written))
}

/** For the router: pages do not see the place, and every address that it writes has it. */
export const placeRewrite = {
  input: ({ url }: { url: URL }) => {
    url.search = withoutPlace(url.search)
    return url
  },
  output: ({ url }: { url: URL }) => {
    if (Object.keys(here).length > 0) url.search = withPlace(url.search, here)
    return url
  }
}

/** The header of a request to this path. `/api` is about the service, not about a database. */
export const branchHeaders = (path: string): Readonly<Record<string, string>> =>
  branch !== undefined && path.startsWith("/v1/") ? { "x-svc-branch": branch } : {}
