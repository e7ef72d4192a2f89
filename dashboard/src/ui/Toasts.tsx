import { useLayoutEffect, useRef, useSyncExternalStore } from "react"
import { Button } from "./Button.tsx"
import { Icon } from "./Icon.tsx"
import { toastStore } from "./toast.ts"

/** One polite live region for all. */
export const Toasts = () => {
  const all = useSyncExternalStore(toastStore.subscribe, toastStore.all)
  const region = useRef<HTMLDivElement>(null)
  // Shown again with each change, so that they lie above a modal dialog that was opened meanwhile.
  useLayoutEffect(() => {
    region.current?.hidePopover()
    if (all.length > 0) region.current?.showPopover()
  }, [all])
  return (
    <div ref={region} popover="manual" className="toasts" role="status" aria-live="polite">
      {all.map(({ id, kind, text, trace, undo }) => (
        <div key={id} className={`toast ${kind}`}>
          <Icon name={kind === "error" ? "alert" : "check"} />
          <div>
            <p>{text}</p>
            {trace === undefined ? null : <code>{trace}</code>}
          </div>
          {undo === undefined ? null : (
            <Button
              icon="undo"
              onClick={() => {
                toastStore.dismiss(id)
                undo()
              }}
            >
              Undo
            </Button>
          )}
          <Button kind="quiet" icon="x" label="Dismiss" onClick={() => toastStore.dismiss(id)} />
        </div>
      ))}
    </div>
  )
}
