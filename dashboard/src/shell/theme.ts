const kept = "svc.theme"
export const themes = ["system", "light", "dark"] as const
type Theme = (typeof themes)[number]
export const themeNames: Readonly<Record<Theme, string>> = { system: "As the system", light: "Light", dark: "Dark" }

export const currentTheme = (): Theme => themes.find((theme) => theme === localStorage.getItem(kept)) ?? "system"

export const applyTheme = (theme: Theme) => {
  if (theme === "system") delete document.documentElement.dataset["theme"]
  else document.documentElement.dataset["theme"] = theme
  localStorage.setItem(kept, theme)
}
