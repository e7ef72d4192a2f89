import { type KeyboardEvent, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react"
import type { ButtonKind } from "./Button.tsx"
import { Icon } from "./Icon.tsx"
import type { IconName } from "./icons.ts"

interface PopoverProps {
  readonly label: string
  readonly children: (close: () => void) => ReactNode
  readonly icon?: IconName
  readonly kind?: ButtonKind
  /** The text of the button; without it the button is square. */
  readonly trigger?: ReactNode
  readonly align?: "start" | "end"
}

const place = (panel: HTMLElement, button: HTMLElement, align: "start" | "end") => {
  const at = button.getBoundingClientRect()
  const box = panel.getBoundingClientRect()
  const left = align === "end" ? at.right - box.width : at.left
  const above = at.bottom + 6 + box.height > innerHeight && at.top > box.height
  panel.style.left = `${Math.max(8, Math.min(left, innerWidth - box.width - 8))}px`
  // In a low window it covers its button rather than end outside.
  const top = above ? at.top - box.height - 6 : at.bottom + 6
  panel.style.top = `${Math.max(8, Math.min(top, innerHeight - box.height - 8))}px`
}

/** A panel beside its button. The platform closes it on Escape and on presses elsewhere. */
export const Popover = ({ align = "start", children, icon, kind = "plain", label, trigger }: PopoverProps) => {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const element = panel.current
    const toggled = (event: Event) => setOpen((event as ToggleEvent).newState === "open")
    element?.addEventListener("toggle", toggled)
    return () => element?.removeEventListener("toggle", toggled)
  }, [])
  useLayoutEffect(() => {
    if (!open || panel.current === null || button.current === null) return
    const [box, opener] = [panel.current, button.current]
    const move = () => place(box, opener, align)
    move()
    box.querySelector<HTMLElement>("input,select,textarea,button,a")?.focus()
    // Its content may grow, and zooming changes the window.
    const grown = new ResizeObserver(move)
    grown.observe(box)
    addEventListener("resize", move)
    return () => {
      grown.disconnect()
      removeEventListener("resize", move)
    }
  }, [open, align])
  const close = () => {
    panel.current?.hidePopover()
    button.current?.focus()
  }
  const square = trigger === undefined
  return (
    <>
      <button
        ref={button}
        type="button"
        className={`button ${kind} ${square ? "square" : ""}`}
        aria-label={square ? label : undefined}
        title={square ? label : undefined}
        aria-haspopup="dialog"
        aria-expanded={open}
        popoverTarget={id}
      >
        {icon === undefined ? null : <Icon name={icon} />}
        {square ? null : <span>{trigger}</span>}
      </button>
      <div id={id} ref={panel} popover="auto" role="dialog" aria-label={label} className="popover">
        {open ? children(close) : null}
      </div>
    </>
  )
}

/** Arrow keys within a list of buttons. */
const moveFocus = (event: KeyboardEvent<HTMLElement>) => {
  const all = Array.from(event.currentTarget.querySelectorAll<HTMLElement>("button,a"))
  const at = all.indexOf(document.activeElement as HTMLElement)
  const targets: Readonly<Record<string, number>> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }
  const next = targets[event.key]
  if (next === undefined || all.length === 0) return
  event.preventDefault()
  all[(next + all.length) % all.length]?.focus()
}

/** A column of actions in a popover. */
export const Menu = ({ children }: { children: ReactNode }) => (
  // The handler only moves the focus between its buttons.
  // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
  <div className="menu" onKeyDown={moveFocus}>
    {children}
  </div>
)

interface MenuItemProps {
  readonly children: ReactNode
  readonly icon?: IconName
  readonly note?: ReactNode
  readonly danger?: boolean
  /** A state that the item toggles or chooses. */
  readonly checked?: boolean
  readonly onClick: () => void
}

export const MenuItem = ({ checked, children, danger = false, icon, note, onClick }: MenuItemProps) => (
  <button type="button" className={danger ? "danger" : ""} aria-pressed={checked} onClick={onClick}>
    {checked === undefined ? null : (
      <span className="menu-check">{checked ? <Icon name="check" size={14} /> : null}</span>
    )}
    {icon === undefined ? null : <Icon name={icon} />}
    <span>{children}</span>
    {note === undefined ? null : <span className="menu-note">{note}</span>}
  </button>
)
