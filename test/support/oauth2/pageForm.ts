import { type Browsing, type Page } from "../browser/cookieClient.ts"

/** Opens a page of the service as a browser does. */
export const openPage = (browser: Browsing, url: string | URL): Promise<Page> =>
  browser.once(url, { headers: { accept: "text/html" } })

/** Submits a form as a browser does; `headers` overrides the defaults. */
export const sendForm = (
  browser: Browsing,
  url: string | URL,
  fields: Readonly<Record<string, string>> | ReadonlyArray<readonly [name: string, value: string]>,
  headers: Readonly<Record<string, string>> = {}
): Promise<Page> =>
  browser.once(url, {
    method: "POST",
    headers: { accept: "text/html", "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(Array.isArray(fields) ? fields : Object.entries(fields)).toString()
  })

/** The fields that a page's form sends when only a button is pressed. */
export const pressed = ({ text }: Page, button: string): ReadonlyArray<readonly [string, string]> => {
  const attribute = (tag: string, name: string) =>
    new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll("&amp;", "&")
  const sent = [...text.matchAll(/<input\s[^>]*>/g)].flatMap(([tag]) => {
    const [name, value] = [attribute(tag, "name"), attribute(tag, "value")]
    const counts = attribute(tag, "type") === "hidden" || /\schecked\s/.test(tag)
    return name === undefined || value === undefined || !counts ? [] : [[name, value] as const]
  })
  return [...sent, ["decision", button]]
}

/** The hidden token of a page's form; "" without one. */
export const tokenIn = ({ text }: Page): string => /name="token"\s+value="([^"]+)"/.exec(text)?.[1] ?? ""

/** The URL that a page redirects to; "" when it does not. */
export const onwardIn = ({ text }: Page): string =>
  (/http-equiv="refresh"\s+content="0;url=([^"]+)"/.exec(text)?.[1] ?? "").replaceAll("&amp;", "&")
