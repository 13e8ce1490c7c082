-- Private prefixes.
select true;
