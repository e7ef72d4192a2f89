/** The grounds of text in the two colour schemes, on which an operator's colour must be legible. */
export const grounds = { light: "#ffffff", dark: "#1f2328" }

/** The style sheet of all pages; its hash is in their Content-Security-Policy. */
export const pageStyle = `
:root {
  --text: #1c2128; --soft: #57606a; --ground: #f4f5f7; --card: #fff; --line: #d5d9df;
  --strong: #1f5fbf; --on-strong: #fff; --hover: #194f9f; --bad: #a1260d;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e8eaed; --soft: #a3abb5; --ground: #15181c; --card: #1f2328; --line: #3a4048;
    --strong: #7fb0ff; --on-strong: #10151c; --hover: #a3c6ff; --bad: #ff9d8a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; padding: 1rem; display: grid; place-items: center;
  background: var(--ground); color: var(--text); font: 1rem/1.5 system-ui, sans-serif;
}
main {
  width: 100%; max-width: 28rem; padding: 1.75rem; border: 1px solid var(--line); border-radius: .75rem;
  background: var(--card); overflow-wrap: anywhere;
}
h1 { margin: 0 0 .25rem; font-size: 1.3rem; line-height: 1.3; font-weight: 600; }
p { margin: .5rem 0; }
.soft, footer { color: var(--soft); font-size: .9rem; }
/* Without fixed dimensions, browsers show nothing for a logo that can't be loaded. */
.logo { display: block; max-width: 4rem; max-height: 4rem; margin: 0 0 .5rem; border-radius: .5rem; }
fieldset { margin: 1.25rem 0 .75rem; padding: 0; border: 0; }
legend { padding: 0; font-weight: 600; }
label { display: flex; gap: .65rem; padding: .45rem 0; align-items: flex-start; }
label span { flex: 1; min-width: 0; }
label small { display: block; color: var(--soft); font-size: .85rem; }
input[type=checkbox] { margin: .25rem 0 0; width: 1.05rem; height: 1.05rem; flex: none; accent-color: var(--strong); }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.25rem 0 0; }
/* Labels of other services differ in length. */
.each button { flex-basis: 100%; }
.brand { display: flex; align-items: center; gap: .6rem; margin: 0 0 1.25rem; font-weight: 600; }
.brand img { max-width: 8rem; max-height: 2rem; }
/* A choice under a long list stays in sight, unless the window is too low to spare the room. */
@media (min-height: 28rem) {
  /* What gets the focus is not behind them. */
  html:has(.choice) { scroll-padding-bottom: 10rem; }
  .choice .buttons {
    position: sticky; bottom: 0; margin: 1.25rem -1.75rem 0; padding: .75rem 1.75rem;
    border-top: 1px solid var(--line); background: var(--card);
  }
}
button.plain {
  flex: none; padding: 0; border: 0; color: var(--strong); font: inherit; text-align: start;
  text-decoration: underline;
}
button, .button {
  flex: 1 1 8rem; padding: .65rem 1rem; border: 1px solid var(--line); border-radius: .5rem; cursor: pointer;
  background: transparent; color: inherit; font: inherit; font-weight: 600; text-align: center; text-decoration: none;
}
.main { background: var(--strong); border-color: var(--strong); color: var(--on-strong); }
.main:hover { background: var(--hover); border-color: var(--hover); }
button:focus-visible, a:focus-visible, input:focus-visible { outline: 3px solid var(--strong); outline-offset: 2px; }
a { color: var(--strong); }
.main, a.main { color: var(--on-strong); }
footer { margin-top: 1.25rem; padding-top: 1rem; border-top: 1px solid var(--line); }
code { font-size: .85rem; }
h2 { margin: 1.75rem 0 .25rem; padding-top: 1.25rem; border-top: 1px solid var(--line); font-size: 1.05rem; }
.field { display: block; padding: .5rem 0; font-weight: 600; font-size: .9rem; }
.field input {
  display: block; width: 100%; margin-top: .25rem; padding: .6rem .7rem; border: 1px solid var(--line);
  border-radius: .5rem; background: var(--ground); color: inherit; font: inherit;
}
.alert { padding: .6rem .8rem; border: 1px solid currentColor; border-radius: .5rem; color: var(--bad); }
ul { margin: .5rem 0; padding: 0; list-style: none; }
li { padding: .5rem 0; border-top: 1px solid var(--line); }
li form, li .buttons { margin: .35rem 0 0; }
li button { flex: 0 1 auto; padding: .35rem .8rem; }
.qr { display: block; width: 100%; max-width: 16rem; margin: .75rem auto; border-radius: .5rem; }
pre { padding: .75rem; border: 1px solid var(--line); border-radius: .5rem; white-space: pre-wrap; }
`
