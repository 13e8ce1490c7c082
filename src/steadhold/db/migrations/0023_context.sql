-- Context: files with revisions in bounded storage.
select true;
