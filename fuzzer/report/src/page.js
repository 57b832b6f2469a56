(function () {
  "use strict";
  var rows = Array.prototype.slice.call(document.querySelectorAll("tbody tr"));
  var picked = -1;
  function mark(on) {
    if (picked < 0) return;
    rows[picked].classList.toggle("picked", on);
    var dot = document.getElementById("d" + rows[picked].id.slice(1));
    if (dot) dot.classList.toggle("picked", on);
  }
  function pick(at, scroll) {
    if (at < 0 || at >= rows.length) return;
    mark(false);
    picked = at;
    mark(true);
    if (scroll) rows[at].scrollIntoView({ block: "nearest" });
    history.replaceState(null, "", "#" + rows[at].id);
  }
  rows.forEach(function (row, at) { row.addEventListener("click", function () { pick(at, false); }); });
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowDown") pick(picked + 1, true);
    else if (event.key === "ArrowUp") pick(picked - 1, true);
    else if (event.key === "v") pick(rows.findIndex(function (row) { return row.classList.contains("bad"); }), true);
    else return;
    event.preventDefault();
  });
  var start = rows.findIndex(function (row) { return "#" + row.id === location.hash; });
  if (start >= 0) pick(start, true);
})();
