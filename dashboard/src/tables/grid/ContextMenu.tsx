import { type ReactNode, useLayoutEffect, useRef } from "react"
import { Menu } from "../../ui/Popover.tsx"

export interface Point {
  readonly x: number
  readonly y: number
}

interface ContextMenuProps {
  readonly label: string
  readonly at: Point
  readonly children: ReactNode
  readonly onClose: () => void
}

/**
 * A menu where the pointer or the keyboard is. It closes itself: the platform would close it when the button that opened
 * it is released.
 */
export const ContextMenu = ({ at, children, label, onClose }: ContextMenuProps) => {
  const panel = useRef<HTMLDivElement>(null)
  const close = useRef(onClose)
  close.current = onClose
  useLayoutEffect(() => {
    const box = panel.current
    if (box === null) return
    box.showPopover()
    const { height, width } = box.getBoundingClientRect()
    box.style.left = `${Math.max(8, Math.min(at.x, innerWidth - width - 8))}px`
    box.style.top = `${Math.max(8, Math.min(at.y, innerHeight - height - 8))}px`
    box.querySelector("button")?.focus()
    const pressed = (event: Event) => {
      if (!box.contains(event.target as Node)) close.current()
    }
    const keys = (event: KeyboardEvent) => {
      if (event.key !== "Escape" && event.key !== "Tab") return
      event.preventDefault()
      event.stopPropagation()
      close.current()
    }
    const leave = () => close.current()
    addEventListener("pointerdown", pressed, true)
    addEventListener("resize", leave)
    box.addEventListener("keydown", keys)
    return () => {
      removeEventListener("pointerdown", pressed, true)
      removeEventListener("resize", leave)
      box.removeEventListener("keydown", keys)
    }
  }, [at])
  return (
    <div ref={panel} popover="manual" role="dialog" aria-label={label} className="popover">
      <Menu>{children}</Menu>
    </div>
  )
}
