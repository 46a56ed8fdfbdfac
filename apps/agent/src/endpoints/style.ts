/** CSS of the portal: the fonts of the phone, light and dark. */
export const style = `:root{--back:#f4f5f7;--card:#fff;--text:#1b1f24;--soft:#59626d;--line:#d5dae0;--main:#0b5cad;--on-main:#fff;--good:#116b3a;--good-back:#e5f4ea;--bad:#a3201b;--bad-back:#fbe9e8;--busy-back:#e6effa;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--back:#14171a;--card:#1e2226;--text:#e8eaed;--soft:#a2abb5;--line:#3a4148;--main:#7ab6f5;--on-main:#0b1a2b;--good:#7fd6a2;--good-back:#17301f;--bad:#f5a09b;--bad-back:#3a1d1c;--busy-back:#1b2c3f}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:16px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:30rem;margin:0 auto;padding:1rem}
h1{font-size:1.4rem;line-height:1.25;margin:.4rem 0 0;overflow-wrap:anywhere}
p{margin:.25rem 0 0}
.about{color:var(--soft);margin:0 0 1rem;overflow-wrap:anywhere}
form,details,.note{background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding:1rem;margin:0 0 1rem}
.note{background:var(--busy-back);border-color:transparent;overflow-wrap:anywhere}
.note.good{background:var(--good-back)}
.note.good b{color:var(--good)}
.note.bad{background:var(--bad-back)}
.note.bad b{color:var(--bad)}
.note.busy b::before{content:"";display:inline-block;width:.8em;height:.8em;margin-right:.5em;border:.15em solid var(--main);border-right-color:transparent;border-radius:50%;animation:turn 1s linear infinite}
@keyframes turn{to{transform:rotate(1turn)}}
@media (prefers-reduced-motion:reduce){.note.busy b::before{animation-duration:6s}}
fieldset{border:0;margin:0;padding:0;min-width:0}
legend,form>label{display:block;font-weight:600;padding:0}
form>label{margin-top:1rem}
small{display:block;font-weight:400;font-size:.85rem;color:var(--soft)}
.network{display:flex;align-items:center;gap:.7rem;min-height:3rem;padding:.3rem 0;border-bottom:1px solid var(--line);cursor:pointer}
.network span{flex:1;min-width:0;overflow-wrap:anywhere}
.network input{width:1.15rem;height:1.15rem;margin:0;flex:none;accent-color:var(--main)}
.lock{width:1rem;height:1rem;flex:none;fill:var(--soft)}
.bars{width:1.25rem;height:1rem;flex:none;fill:var(--line)}
.s1 path:nth-child(-n+1),.s2 path:nth-child(-n+2),.s3 path:nth-child(-n+3),.s4 path{fill:var(--text)}
.typed{display:none;font-weight:600;margin-top:.7rem}
fieldset:has(#other:checked) .typed{display:block}
@supports not selector(:has(a)){.typed{display:block}}
.again{font-size:.85rem}
.script .again{display:none}
.none{color:var(--soft);padding:.6rem 0}
a{color:var(--main)}
.row{display:flex;gap:.5rem}
input[type=text],input[type=password],textarea{width:100%;min-width:0;min-height:2.8rem;margin:.3rem 0;padding:.5rem .7rem;font:inherit;color:inherit;background:var(--back);border:1px solid var(--soft);border-radius:.5rem}
textarea{font:.85rem/1.4 ui-monospace,monospace}
button{font:inherit;font-weight:600;min-height:2.8rem;padding:.5rem 1rem;border:0;border-radius:.5rem;background:var(--main);color:var(--on-main);cursor:pointer}
button[type=submit]{width:100%;margin-top:1.2rem}
button[disabled]{opacity:.6}
.quiet{margin:.3rem 0;background:none;color:var(--main);border:1px solid var(--line)}
[hidden]{display:none!important}
:focus-visible{outline:3px solid var(--main);outline-offset:2px}
summary{cursor:pointer;font-weight:600}
dl{display:grid;grid-template-columns:auto 1fr;gap:.3rem 1rem;margin:.7rem 0 0}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
`;
