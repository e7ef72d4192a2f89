import { setTimeout as sleep } from "node:timers/promises"

/** One call of the Chrome DevTools Protocol, in a tab. */
export type Send = <A>(method: string, params?: object) => Promise<A>

/** A tab of a browser. */
export interface Tab extends AsyncDisposable {
  readonly send: Send
  /** Opens a URL and waits until the page has loaded. */
  readonly go: (url: string) => Promise<void>
  /** Waits until an expression is a non-empty text. */
  readonly soon: (expression: string) => Promise<string>
  /** Clicks the middle of the first element that a selector matches. */
  readonly click: (selector: string) => Promise<void>
  /** A screenshot as PNG bytes. */
  readonly picture: () => Promise<Buffer>
}

export const makeTab = (send: Send, close: () => Promise<unknown>): Tab => {
  const soon = async (expression: string) => {
    for (const deadline = Date.now() + 20_000; Date.now() < deadline; await sleep(25)) {
      const { result } = await send<{ result: { value?: unknown } }>("Runtime.evaluate", {
        expression,
        returnByValue: true
      }).catch(() => ({ result: {} as { value?: unknown } })) // The tab is between two pages.
      if (typeof result.value === "string" && result.value !== "") return result.value
    }
    throw new Error(`Timed out waiting for: ${expression}`)
  }
  return {
    send,
    soon,
    go: async (url) => {
      const { errorText } = await send<{ errorText?: string }>("Page.navigate", { url })
      if (errorText !== undefined) throw new Error(`${url}: ${errorText}`)
      await soon("document.readyState === 'complete' ? location.href : ''")
    },
    click: async (selector) => {
      const box = await soon(`(() => {
        const element = document.querySelector(${JSON.stringify(selector)})
        element?.scrollIntoView({ block: "center" })
        const box = element?.getBoundingClientRect()
        return box === undefined ? "" : JSON.stringify([box.x + box.width / 2, box.y + box.height / 2])
      })()`)
      const [x, y] = JSON.parse(box) as [number, number]
      for (const type of ["mousePressed", "mouseReleased"]) {
        await send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 })
      }
    },
    picture: async () => Buffer.from((await send<{ data: string }>("Page.captureScreenshot")).data, "base64"),
    [Symbol.asyncDispose]: async () => void (await close())
  }
}
